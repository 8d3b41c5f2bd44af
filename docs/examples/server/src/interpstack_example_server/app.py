"""The application of one worker."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from langchain.agents import create_agent
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import Error
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from pydantic import BaseModel, Field

from interpstack_agents import Feed, Missed, ProgressEvent, Subscription
from interpstack_example_server import metrics
from interpstack_example_server.settings import Settings
from interpstack_example_server.turns import Turns, WrongTurn
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_sessions.api import HeldKeys
from interpstack_stores import PostgresStore, SessionBusy, SessionStoreError

__all__ = ["make_app"]


class Turn(BaseModel):
    """The body of a turn: an id that the client has chosen, and what the user said."""

    id: str = Field(min_length=1, max_length=100)
    text: str = Field(max_length=100_000)


def make_app() -> FastAPI:
    """The application, with the settings of the environment."""
    app = FastAPI(title="interpstack example server", lifespan=_lifespan)
    app.post("/threads/{thread}/turns", response_model=None)(_turn)
    app.get("/health/live")(_live)
    app.get("/health/ready", response_model=None)(_ready)
    app.get("/metrics")(_metrics)
    app.add_exception_handler(SessionBusy, _busy)
    app.add_exception_handler(SessionStoreError, _away)
    app.add_exception_handler(Error, _away)
    app.add_exception_handler(WrongTurn, _conflict)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    settings = Settings.from_environment()
    model, given = settings.parts()
    tools = [one if isinstance(one, BaseTool) else tool(one) for one in given]
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
        held = HeldKeys(
            store,
            claim_seconds=settings.claim_seconds,
            patience_seconds=settings.patience_seconds,
        )
        saver = AsyncPostgresSaver(pool)
        async with held.held("setup"):  # workers that start at once would disturb each other
            await saver.setup()
        interpreter = await stack.enter_async_context(
            CodeInterpreterMiddleware(ptc=[one.name for one in tools])
        )
        agent = create_agent(model, tools, middleware=[interpreter], checkpointer=saver)
        app.state.turns, app.state.pool = Turns(agent, held), pool
        app.state.ready = True
        try:
            yield
        finally:  # requests have ended; turns whose clients are gone may still run
            app.state.ready = False
            await app.state.turns.drain()


async def _turn(thread: str, turn: Turn, request: Request) -> Response:
    if not 1 <= len(thread) <= 100 or not thread.isprintable():
        raise HTTPException(422, "a thread is named by 1 to 100 printable characters")
    feed = Feed()
    if "text/event-stream" in request.headers.get("accept", ""):
        subscription = feed.subscribe()
        task = request.app.state.turns.start(thread, turn.id, turn.text, feed)
        return StreamingResponse(_stream(subscription, task), media_type="text/event-stream")
    task = request.app.state.turns.start(thread, turn.id, turn.text, feed)
    # A client that disconnects does not cancel the turn.
    return JSONResponse({"answer": await asyncio.shield(task)})


async def _stream(subscription: Subscription, task: asyncio.Task[str]) -> AsyncIterator[str]:
    with subscription:
        async for item in subscription:
            if isinstance(item, ProgressEvent):
                yield _event("progress", dict(item.fields))
            elif isinstance(item, Missed):
                metrics.MISSED.inc(item.events)
                yield _event("missed", {"events": item.events})
        try:
            yield _event("answer", {"answer": await asyncio.shield(task)})
        except (SessionStoreError, Error, WrongTurn) as error:
            yield _event("error", {"detail": str(error), "retry": not isinstance(error, WrongTurn)})


def _event(kind: str, data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, default=str)}\n\n"


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
    told = {"ready": ready, "running": running, "worker": os.getpid()}
    return JSONResponse(told, 200 if ready else 503)


async def _metrics() -> Response:
    return Response(metrics.page(), media_type="text/plain; version=0.0.4")


async def _busy(request: Request, error: Exception) -> Response:
    seconds = error.wait_seconds if isinstance(error, SessionBusy) else 1.0
    return _later("another turn of this thread is running", seconds)


async def _away(request: Request, error: Exception) -> Response:
    return _later("the database is away, or another worker has the thread", 1.0)


def _later(why: str, seconds: float) -> Response:
    return JSONResponse({"detail": why}, 503, {"Retry-After": str(max(1, math.ceil(seconds)))})


async def _conflict(request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, 409)
