"""Tests of interpstack_workers.service: commands by number of a realm, and their answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_stacks import ImagingEngine

from interpstack import BridgeSet, Cell, ConfigurationError, EngineFailure, Limits, Settlement
from interpstack.values import to_json
from interpstack_testing import FakeEngine
from interpstack_workers.messages import PRINTED_CHARS, pack_bridges
from interpstack_workers.service import Service


class Host:
    """The host's side of a service."""

    def __init__(self, engine: Any = None, *, keep: bool = True) -> None:
        self.sent: list[tuple[dict[str, Any], bytes]] = []
        self.service = Service(
            engine or FakeEngine(), lambda *found: self.sent.append(found), keep=keep
        )
        self._number = 0

    def ask(self, do: str, realm: int = 1, attached: bytes = b"", **fields: Any) -> Any:
        self._number += 1
        data = {"do": do, "realm": realm, "bridges": None, "leave": [], "number": self._number}
        return self.service.answer(json.loads(json.dumps({**data, **fields})), attached)

    def open(self, realm: int = 1, **fields: Any) -> Any:
        given = {"image": None, "values": None, "limits": to_json(Limits()), "redo": [], **fields}
        return self.ask("open", realm, bridges=pack_bridges(BridgeSet()), **given)

    def poll(self, source: str | None = None, realm: int = 1, **fields: Any) -> Any:
        cell: Any = None if source is None else to_json(Cell(source=source, seed=1))
        given = {"resume": False, "before": None, "settle": [], "now": 0.0, "cpu": 5.0}
        given |= {"spare": [None, 0.0], **fields}
        return self.ask("poll", realm, **{"cell": cell, **given})


def test_a_cell_runs_and_its_values_come_with_its_end() -> None:
    host = Host()
    assert host.open() == ({"done": None}, b"")
    message, attached = host.poll("a = 41\na + 1")
    assert message["done"]["completion"]["text"] == "42"
    assert (message["kept"], attached) == ({"values": {"a": 41}}, b"")
    assert host.ask("names") == ({"done": ["a"]}, b"")
    assert host.ask("values") == ({"done": {"a": 41}}, b"")


def test_a_cell_that_waits_has_no_state_yet() -> None:
    host = Host()
    host.open()
    message, _ = host.poll("await sleep(1)")
    assert message.keys() == {"done", "mark"}
    message, _ = host.ask("abort", reason="enough")
    assert message["kept"] == {"values": {}}


def test_realms_are_apart_until_they_are_left() -> None:
    host = Host()
    host.open(1, values={"a": 1})
    host.open(2)
    assert [host.ask("names", realm)[0]["done"] for realm in (1, 2)] == [["a"], []]
    host.ask("names", 2, leave=[1, 1, 99])
    message, _ = host.ask("names", 1)
    assert message["error"][0] == "EngineFailure"
    assert message["error"][1] == "realm 1 is not open here: it was left, or moved away"


def test_states_are_kept_as_the_engine_can() -> None:
    image, data = Host(ImagingEngine()), b'{"a": 1}'
    image.open()
    message, attached = image.poll("a = 1")
    assert (message["kept"], attached) == ({"image": ["imaging", "v1"]}, data)
    assert image.ask("image") == ({"done": ["imaging", "v1"]}, data)

    class Stateless(FakeEngine):
        capabilities = frozenset()

    none = Host(Stateless())
    none.open()
    lost = "engine 'fake' can neither store nor export them"
    assert none.poll("a = 1")[0]["kept"] == {"lost": lost}
    unkept = Host(keep=False)
    unkept.open()
    assert unkept.poll("a = 1")[0]["kept"] == {"lost": "states are not kept (keep_state)"}


def test_a_state_stays_where_its_cell_can_be_repeated() -> None:
    host = Host(ImagingEngine())
    host.open()
    message, attached = host.poll("a = 1", spare=[1.0, 1.0])
    assert (message.keys(), attached) == ({"done", "mark"}, b"")
    message, attached = host.poll("a = 2", spare=[1.0, 0.0])
    assert (message["kept"], attached) == ({"image": ["imaging", "v1"]}, b'{"a": 2}')
    message, attached = host.poll("await sleep(1)", spare=[0.0, 0.0])
    assert (message["middle"], attached) == (["imaging", "v1"], b'{"a": 2}')


def test_cells_are_repeated_from_their_inputs() -> None:
    first, second = Host(), Host()
    first.open()
    cell = to_json(Cell(source="a = 5\nawait sleep(1)\na", seed=1))
    settle = [to_json(Settlement(1, "null"))]
    marks = [first.poll(None, cell=cell)[0]["mark"], first.poll(settle=settle)[0]["mark"]]
    polls = [[0.0, given, mark] for given, mark in zip(([], settle), marks, strict=True)]
    inputs = {"cell": cell, "bridges": pack_bridges(BridgeSet()), "polls": polls}
    assert second.open(redo=[inputs]) == ({"done": None}, b"")
    assert second.ask("values")[0]["done"] == {"a": 5}
    polls[1][2] += 1
    message, _ = Host().open(redo=[inputs])
    assert message["error"][0] == "ImageError"
    assert "did something else" in message["error"][1]


def test_a_state_that_cannot_be_kept_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    host.open()

    def fail(self: Any) -> Any:
        raise EngineFailure("too large")

    realm = host.service._realms[1]
    monkeypatch.setattr(type(realm), "values", fail)
    assert host.poll("1")[0]["kept"] == {"lost": "too large"}


def test_values_are_loaded_and_kept() -> None:
    host = Host()
    host.open()
    message, _ = host.ask("load", attached=b'{"a": [1]}')
    assert message == {"done": None, "kept": {"values": {"a": [1]}}}


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (ConfigurationError("no"), ["ConfigurationError", "no"]),
        (EngineFailure("no"), ["EngineFailure", "no"]),
        (NotImplementedError("no"), ["NotImplementedError", "no"]),
        (ZeroDivisionError("no"), ["EngineFailure", "ZeroDivisionError: no"]),
        (OSError("x" * 20_000), ["EngineFailure", f"OSError: {'x' * 20_000}"[:10_000]]),
    ],
)
def test_an_engine_may_raise_anything(
    monkeypatch: pytest.MonkeyPatch, error: Exception, found: list[str]
) -> None:
    def fail(*given: Any) -> Any:
        raise error

    host = Host()
    monkeypatch.setattr(FakeEngine, "open", fail)
    assert host.open() == ({"error": found}, b"")


def test_memory_that_ran_out_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(FakeEngine, "open", fail)
    with pytest.raises(MemoryError):
        Host().open()


def test_output_goes_out_in_pieces_while_its_command_runs() -> None:
    host = Host()
    host.open()
    execution: Any = object()
    host.service._printed(execution, "nobody runs")
    host.service.running = (7, execution)
    host.service._printed(object(), "of another")  # type: ignore[arg-type]
    host.service._printed(execution, "x" * (PRINTED_CHARS + 1))
    found = [(len(message["printed"]), message["number"]) for message, _ in host.sent]
    assert found == [(PRINTED_CHARS, 7), (1, 7)]


def test_the_command_that_computes_can_be_named_while_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, seen = Host(), []
    host.open()
    host.poll("await sleep(1)")
    execution = host.service._executions[1]
    poll = type(execution).poll

    def noted(self: Any, *given: Any) -> Any:
        seen.append(host.service.running)
        return poll(self, *given)

    monkeypatch.setattr(type(execution), "poll", noted)
    host.poll()
    assert seen == [(host._number, execution)]
    assert host.service.running is None
