"""A turn as its client sees it while it runs: by server-sent events, or by a WebSocket.

A client that leaves cancels its turn. When it sends the turn again, the turn continues: calls whose
results were recorded are not made again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Literal

from fastapi import WebSocket, WebSocketDisconnect
from fastapi.encoders import jsonable_encoder
from psycopg import Error
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from interpstack_agents import Feed, Missed, ProgressEvent
from interpstack_example_server import metrics
from interpstack_example_server.turns import Outcome, Refused
from interpstack_example_server.users import TooManyTurns
from interpstack_state import StateError

__all__ = ["Answers", "Turn", "converse", "sent_events", "turn_events"]

_log = logging.getLogger(__name__)


class Turn(BaseModel):
    """A turn: an id that the client has chosen, and what the user said."""

    id: str = Field(min_length=1, max_length=100)
    text: str = Field(max_length=100_000)


class Answers(BaseModel):
    """Answers to questions, by the ids of the questions."""

    answers: dict[str, Any] = Field(min_length=1)


class Stop(BaseModel):
    """A wish to cancel the turn that runs."""

    stop: Literal[True]


_MESSAGE: TypeAdapter[Turn | Answers | Stop] = TypeAdapter(Turn | Answers | Stop)


async def turn_events(
    start: Callable[[Feed], asyncio.Task[Outcome]],
) -> AsyncIterator[tuple[str, Any]]:
    """Start a turn; yield its progress, and then its answer, its questions or an error.

    Whoever closes the iterator early cancels the turn.
    """
    feed = Feed()
    with feed.subscribe() as subscription:
        task = start(feed)
        try:
            async for item in subscription:
                if isinstance(item, ProgressEvent):
                    yield "progress", dict(item.fields)
                elif isinstance(item, Missed):
                    metrics.MISSED.inc(item.events)
                    yield "missed", {"events": item.events}
            outcome = await task
            yield ("questions" if outcome.questions else "answer"), outcome.fields()
        except Refused as error:
            yield "error", {"detail": str(error), "retry": False}
        except (StateError, Error) as error:
            yield "error", {"detail": str(error), "retry": True}
        except Exception:  # noqa: BLE001 - of a model or a tool; it is in the log
            _log.exception("a turn failed")
            yield (
                "error",
                {"detail": "the turn failed; the log of the server has the cause", "retry": True},
            )
        finally:
            task.cancel()  # of no effect once it has ended


async def sent_events(start: Callable[[Feed], asyncio.Task[Outcome]]) -> AsyncIterator[str]:
    """Yield the events of a turn as server-sent events."""
    async with aclosing(turn_events(start)) as events:
        async for kind, data in events:
            yield f"event: {kind}\ndata: {json.dumps(jsonable_encoder(data))}\n\n"


async def converse(
    socket: WebSocket,
    start: Callable[[Turn | Answers], Awaitable[Callable[[Feed], asyncio.Task[Outcome]]]],
) -> None:
    """Serve a WebSocket until its client leaves, one turn at a time.

    Args:
        socket: The accepted socket. Its client sends a turn, answers to questions, or
            `{"stop": true}`, and receives objects with `event` and `data`.
        start: Admits what the client sent, and returns what starts the turn.
    """
    running: asyncio.Task[None] | None = None

    async def send(kind: str, data: Any) -> None:
        await socket.send_json({"event": kind, "data": jsonable_encoder(data)})

    async def play(message: Turn | Answers) -> None:
        try:
            begin = await start(message)
        except TooManyTurns as error:
            await send("error", {"detail": str(error), "retry": True, "wait": error.wait_seconds})
            return
        with suppress(WebSocketDisconnect):  # the loop below learns of it, too
            async with aclosing(turn_events(begin)) as events:
                async for kind, data in events:
                    await send(kind, data)

    try:
        while (received := await socket.receive())["type"] != "websocket.disconnect":
            try:
                message = _MESSAGE.validate_json(received.get("text") or "")
            except ValidationError:
                expected = "send a turn {id, text}, {answers: {…}} or {stop: true}"
                await send("error", {"detail": expected, "retry": False})
                continue
            busy = running is not None and not running.done()
            if isinstance(message, Stop):
                if busy:
                    await _cancel(running)
                await send("stopped", {})
            elif busy:
                await send(
                    "error", {"detail": "a turn runs; wait for it, or stop it", "retry": True}
                )
            else:
                running = asyncio.create_task(play(message))
    except WebSocketDisconnect:
        return  # while it was sent an error
    finally:
        await _cancel(running)


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
