"""The application of one worker: its parts, and what it answers to requests."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, FastAPI, HTTPException, Request, Response, WebSocket
from fastapi.encoders import jsonable_encoder
from fastapi.requests import HTTPConnection
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import Error
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from interpstack_agents import Feed
from interpstack_example_server import metrics
from interpstack_example_server.settings import Settings
from interpstack_example_server.streams import Answers, Turn, converse, sent_events
from interpstack_example_server.turns import Outcome, Refused, Turns
from interpstack_example_server.users import Rates, TooManyTurns, thread_of
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_sessions.api import KeyLocks
from interpstack_state import PostgresStore, StateBusy, StateError

__all__ = ["make_app"]


def make_app() -> FastAPI:
    """Make the application, with the settings of the environment."""
    app = FastAPI(title="interpstack example server", lifespan=_lifespan)
    app.post("/threads/{thread}/turns", response_model=None)(_start)
    app.post("/threads/{thread}/answers", response_model=None)(_start_answers)
    app.get("/threads/{thread}", response_model=None)(_look)
    app.websocket("/threads/{thread}/live")(_live_thread)
    app.get("/health/live")(_live)
    app.get("/health/ready", response_model=None)(_ready)
    app.get("/metrics")(_metrics)
    app.mount("/", StaticFiles(directory=Path(__file__).with_name("page"), html=True))
    app.add_exception_handler(StateBusy, _busy)
    app.add_exception_handler(StateError, _away)
    app.add_exception_handler(Error, _away)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(TooManyTurns, _limited)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings = Settings.from_environment()
    parts = settings.parts()
    tools = [one if isinstance(one, BaseTool) else tool(one) for one in parts.tools]
    async with AsyncExitStack() as stack:
        store = PostgresStore(settings.database)
        stack.callback(store.close)
        pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
            settings.database,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            min_size=1,
            max_size=8,
            timeout=10,
            check=AsyncConnectionPool.check_connection,
            open=False,
        )
        await stack.enter_async_context(pool)
        locks = KeyLocks(
            store,
            claim_seconds=settings.claim_seconds,
            patience_seconds=settings.patience_seconds,
        )
        saver, rates = AsyncPostgresSaver(pool), Rates(pool, settings.turns_per_minute)
        async with locks.lock("setup"):  # workers that start at once would disturb each other
            await saver.setup()
            await rates.setup()
        interpreter = await stack.enter_async_context(
            CodeInterpreterMiddleware(
                ptc=[one.name for one in tools], interrupt_on=dict(parts.interrupt_on) or None
            )
        )
        agent = create_agent(parts.model, tools, middleware=[interpreter], checkpointer=saver)
        app.state.settings, app.state.pool, app.state.rates = settings, pool, rates
        app.state.turns, app.state.ready = Turns(agent, locks), True
        try:
            yield
        finally:  # requests have ended; turns whose clients are gone may still run
            app.state.ready = False
            await app.state.turns.drain()


def _user(connection: HTTPConnection) -> str | None:
    """Return the user that the proxy names; None if the server does not know users."""
    header = connection.app.state.settings.user_header
    user = None if header is None else connection.headers.get(header, "")
    if user is not None and not (1 <= len(user) <= 100 and user.isprintable()):
        raise HTTPException(401, f"the header {header} must name the user; see USER_HEADER")
    return user


User = Annotated[str | None, Depends(_user)]


def _thread(thread: str, user: User) -> str:
    """Return the id under which the thread is stored."""
    if not 1 <= len(thread) <= 100 or not thread.isprintable():
        raise HTTPException(422, "a thread is named by 1 to 100 printable characters")
    return thread_of(user, thread)


Thread = Annotated[str, Depends(_thread)]


async def _start(thread: Thread, user: User, turn: Turn, request: Request) -> Response:
    return await _outcome(request, await _admit(request, thread, user, turn))


async def _start_answers(thread: Thread, user: User, given: Answers, request: Request) -> Response:
    return await _outcome(request, await _admit(request, thread, user, given))


async def _admit(
    connection: HTTPConnection, thread: str, user: str | None, message: Turn | Answers
) -> Callable[[Feed], asyncio.Task[Outcome]]:
    """Return what starts the turn that a client has sent, or the rest of it after its questions.

    Raises:
        TooManyTurns: The user has started as many turns as they may.
    """
    turns: Turns = connection.app.state.turns
    if isinstance(message, Answers):
        return lambda feed: turns.answer(thread, message.answers, feed)
    try:
        await connection.app.state.rates.take(user or "")
    except TooManyTurns:
        metrics.LIMITED.inc()
        raise
    return lambda feed: turns.start(thread, message.id, message.text, feed)


async def _outcome(request: Request, begin: Callable[[Feed], asyncio.Task[Outcome]]) -> Response:
    if "text/event-stream" in request.headers.get("accept", ""):
        return StreamingResponse(sent_events(begin), media_type="text/event-stream")
    # A client that waits for no events does not cancel the turn when it disconnects.
    outcome = await asyncio.shield(begin(Feed()))
    return JSONResponse(jsonable_encoder(outcome.fields()))


async def _look(thread: Thread, request: Request) -> Response:
    return JSONResponse(jsonable_encoder(await request.app.state.turns.look(thread)))


async def _live_thread(thread: Thread, user: User, socket: WebSocket) -> None:
    origin = socket.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != socket.headers.get("host"):
        raise HTTPException(403, f"a page of {origin} may not use this server")
    await socket.accept()
    await converse(socket, lambda message: _admit(socket, thread, user, message))


async def _live() -> dict[str, bool]:
    return {"live": True}


async def _ready(request: Request) -> Response:
    ready = getattr(request.app.state, "ready", False)
    try:
        if ready:
            async with request.app.state.pool.connection(timeout=2) as connection:
                await connection.execute("SELECT 1")
    except (Error, PoolTimeout):
        ready = False
    running = request.app.state.turns.running
    data = {"ready": ready, "running": running, "worker": os.getpid()}
    return JSONResponse(data, 200 if ready else 503)


async def _metrics() -> Response:
    return Response(metrics.page(), media_type="text/plain; version=0.0.4")


async def _busy(request: Request, error: Exception) -> Response:
    seconds = error.wait_seconds if isinstance(error, StateBusy) else 1.0
    return _later(503, "another turn of this thread is running", seconds)


async def _away(request: Request, error: Exception) -> Response:
    return _later(503, "the database is away, or another worker has the thread", 1.0)


async def _limited(request: Request, error: Exception) -> Response:
    return _later(429, str(error), error.wait_seconds if isinstance(error, TooManyTurns) else 1.0)


def _later(status: int, why: str, seconds: float) -> Response:
    return JSONResponse({"detail": why}, status, {"Retry-After": str(max(1, math.ceil(seconds)))})


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, 409)
