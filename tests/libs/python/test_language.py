"""Python as a guest language."""

from __future__ import annotations

import pytest

from interpstack import (
    UNDEFINED,
    BigInt,
    Bridge,
    BridgeError,
    ErrorValue,
    InterpreterStack,
    MapValue,
    SetValue,
)
from interpstack_python import PYTHON


@pytest.mark.parametrize(
    ("given", "expected"),
    [("web-search", "web_search"), ("web search.v2", "web_search_v2"), ("del", "del_")],
)
def test_names_stay_as_they_are(given: str, expected: str) -> None:
    assert PYTHON.identifier(given) == expected


def test_arguments_go_by_name() -> None:
    assert PYTHON.call("task", {"description": '"x"', "n": "1"}) == 'task(description="x", n=1)'
    assert PYTHON.usage("task", {"a": True, "b": False}) == "task(*, a, b=…)"
    assert PYTHON.usage("task", {}) == "task()"


def test_signatures_stand_in_a_block_of_python() -> None:
    assert PYTHON.listing("tools", ["a", "b"]) == "```python\n# on `tools`\na\nb\n```"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("len", "it would replace 'len', a built-in of Python"),
        ("print", "a built-in of Python"),
        ("list.sorted", "it would replace 'list'"),
        ("def", "'def' is a keyword of Python; use another word"),
        ("ns.import", "'import' is a keyword"),
        ("ns.None", "'None' is a keyword"),
        ("$a", "'$a' is not an identifier of Python"),
        ("ns.a$", "'a$' is not an identifier"),
        ("__interpstack_emit", "a meaning of their own"),
    ],
)
def test_names_that_code_cannot_call_are_refused(name: str, fault: str) -> None:
    assert fault in PYTHON.name_fault(name)
    with pytest.raises(BridgeError, match=r"\(from host\) cannot be used: "):
        InterpreterStack("monty", bridges=[Bridge(name=name, handler=lambda: 42)])


@pytest.mark.parametrize(
    "name", ["ns.len", "match", "ns.then", "await_", "fetch", "help", "Object"]
)
def test_other_names_are_called(name: str) -> None:
    bridge = Bridge(name=name, handler=lambda: 42)
    with InterpreterStack("monty", bridges=[bridge]) as stack, stack.session() as session:
        outcome = session.eval_sync(f"await {name}()")
    assert (outcome.error, outcome.text) == (None, "42")


def test_values_in_messages_are_written_as_in_code() -> None:
    assert PYTHON.literal([True, None, "a"]) == "[True, None, 'a']"
    guests = [
        (UNDEFINED, "None"),
        (BigInt(5), "5"),
        (MapValue([(1, SetValue([2]))]), "{1: {2}}"),
        (MapValue([([1, [2]], 2), (1, [UNDEFINED])]), "{(1, (2,)): 2, 1: [None]}"),
        (MapValue([({}, 2), (1, [UNDEFINED])]), "[[{}, 2], [1, [None]]]"),
        (SetValue([[1]]), "{(1,)}"),
        (SetValue([1, True]), "[1, True]"),
        ({"raised": ErrorValue("KeyError", "k")}, "{'raised': KeyError('k')}"),
        (b"a", "b'a'"),
    ]
    assert [(value, PYTHON.literal(value)) for value, _ in guests] == guests
