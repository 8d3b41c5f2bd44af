"""The engine whose cells are lists of calls, as a guest that broke out would make them."""

from __future__ import annotations

import json
from typing import Any

from interpstack import Bridge, GuestException, InterpreterStack
from interpstack_testing.caller import CallerEngine


async def _echo(value: Any) -> Any:
    return value


async def _fail(value: Any) -> Any:
    raise GuestException("not today", name="Closed", hours=8)


def _run(*calls: tuple[str, Any], heard: list[Any] | None = None) -> Any:
    async def note(value: Any) -> None:
        (heard if heard is not None else []).append(value)

    bridges = [
        Bridge(name="a.echo", handler=_echo, raw=True),
        Bridge(name="a.secret", handler=_echo, raw=True, hidden=True),
        Bridge(name="a.fail", handler=_fail, raw=True),
        Bridge(name="a.note", handler=note, raw=True, awaited=False),
    ]
    with InterpreterStack(CallerEngine(), bridges=bridges) as stack, stack.session() as session:
        outcome = session.eval_sync(json.dumps(calls))
    assert outcome.error is None
    return json.loads(outcome.text)


def test_hidden_bridges_are_called_too_and_answers_keep_their_order() -> None:
    assert _run(("a.secret", {"n": 1}), ("a.echo", [2])) == [
        {"answer": {"n": 1}},
        {"answer": [2]},
    ]


def test_wire_trees_cross_as_they_are() -> None:
    sent = {"$": "map", "v": [[1, {"$": "undefined"}]]}
    assert _run(("a.echo", sent)) == [{"answer": sent}]
    (refused,) = _run(("a.echo", {"$": "forged", "v": 1}))
    assert "unknown kind of value: 'forged'" in refused["error"]["message"]


def test_errors_have_their_data() -> None:
    (failed,) = _run(("a.fail", 1))
    assert failed["error"] | {"stack": "", "data": {}, "place": None} == {
        "name": "Closed",
        "message": "not today",
        "tool": "a.fail",
        "hours": 8,
        "stack": "",
        "data": {},
        "place": None,
    }


def test_a_call_that_wants_no_answer_has_none_and_unknown_ones_are_refused() -> None:
    heard: list[Any] = []
    note, gone = _run(("a.note", "hello"), ("a.gone", 1), heard=heard)
    assert (note, heard) == ({}, ["hello"])
    assert gone["error"]["name"] == "ToolError"


def test_a_cell_without_calls_ends_at_once() -> None:
    assert _run() == []
