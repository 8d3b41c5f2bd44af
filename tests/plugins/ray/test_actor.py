"""Tests of interpstack_ray.actor: batches of commands, in a process that is no cluster's."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import Any

import pytest

from interpstack import BridgeSet, Cell, Limits
from interpstack.values import to_json
from interpstack_ray.actor import GuestActor, about_here
from interpstack_workers.messages import pack_bridges

CONFIG = {
    "engine": ["interpstack_quickjs.engine:QuickJSEngine"],
    "options": {},
    "keep": True,
    "memory_bytes": None,
}


def _command(number: int, do: str, realm: int = 1, **fields: Any) -> Any:
    data = {"do": do, "realm": realm, "bridges": None, "leave": [], "number": number, **fields}
    return number, (json.dumps(data).encode(), b"")


def _open(number: int, realm: int = 1) -> Any:
    fields = {"image": None, "values": None, "redo": [], "limits": to_json(Limits())}
    return _command(number, "open", realm, **{**fields, "bridges": pack_bridges(BridgeSet())})


def _poll(number: int, source: str, realm: int = 1) -> Any:
    fields = {"resume": False, "before": None, "settle": [], "now": 0.0, "cpu": 30.0}
    cell = to_json(Cell(source=source, seed=1))
    return _command(number, "poll", realm, cell=cell, spare=[None, 0.0], **fields)


async def _answers(actor: GuestActor, count: int, *commands: Any) -> dict[int, Any]:
    found: dict[int, Any] = {}
    batch = list(commands)
    while len(found) < count:
        for text, _ in await asyncio.wait_for(actor.exchange(batch), 30):
            data = json.loads(text)
            found[data["number"]] = data.get("answer", data.get("skipped"))
        batch = []
    return found


@pytest.fixture
def actor() -> GuestActor:
    return GuestActor(CONFIG)


async def test_the_actor_says_what_it_runs(actor: GuestActor) -> None:
    about = await actor.about()
    assert {name: about[name] for name in about_here()} == about_here()
    assert set(about_here()) == {"interpstack", "Python"}


async def test_a_batch_of_commands_is_answered(actor: GuestActor) -> None:
    opened = [_open(number, number) for number in range(1, 6)]
    polled = [_poll(number + 10, f"6 * {number}", number) for number in range(1, 6)]
    found = await _answers(actor, 10, *opened, *polled)
    texts = [found[number + 10]["done"]["completion"]["text"] for number in range(1, 6)]
    assert texts == ["6", "12", "18", "24", "30"]


async def test_answers_come_before_the_batch_has_ended(actor: GuestActor) -> None:
    first = await _answers(actor, 1, _open(1), _poll(2, "for (;;);"))
    assert first == {1: {"done": None}}
    while actor._service.running is None:  # noqa: ASYNC110 - else it is taken back, as below
        await asyncio.sleep(0.001)
    await actor.interrupt(2)
    found = await _answers(actor, 1)
    assert found[2]["done"]["exhausted"] is True


async def test_a_command_that_was_not_begun_is_taken_back(actor: GuestActor) -> None:
    await _answers(actor, 1, _open(1), _poll(2, "for (;;);"), _open(3, 2))
    await actor.interrupt(3)
    assert await _answers(actor, 1) == {3: True}
    await actor.interrupt(99)  # nobody knows it
    await actor.interrupt(2)
    assert 2 in await _answers(actor, 1)


async def test_an_earlier_number_of_a_realm_is_refused(actor: GuestActor) -> None:
    await _answers(actor, 1, _open(1, 7))
    left = _command(2, "names", 8)
    found = await _answers(actor, 1, left)
    assert found[2]["error"] == [
        "EngineFailure",
        "realm 8 is not open here: it was left, or moved away",
    ]


def test_a_cell_may_outlast_the_loop_of_its_actor(actor: GuestActor) -> None:
    """Its guest thread lives on; an end of the thread would end this process."""
    asyncio.run(_answers(actor, 1, _open(1), _poll(2, "for (;;);")))
    while actor._service.running is None:
        time.sleep(0.001)
    asyncio.run(actor.interrupt(2))
    while not actor._mail.answers:
        time.sleep(0.001)
    threads = {thread.name for thread in threading.enumerate()}
    assert "guests" in threads
    (answer,) = actor._mail.collect()
    assert json.loads(answer[0])["number"] == 2


def test_an_engine_that_cannot_be_made_ends_the_actor() -> None:
    with pytest.raises(TypeError):
        GuestActor({**CONFIG, "options": {"colour": "red"}})
