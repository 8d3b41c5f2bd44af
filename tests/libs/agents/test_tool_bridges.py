"""Bridges to tools: run on the loop, with a text as the field of a tool that has only one."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import attrs
import pytest

from interpstack import (
    UNDEFINED,
    UNKNOWN,
    BigInt,
    CellContext,
    ErrorValue,
    GuestLanguage,
    HostTool,
    MapValue,
    OpenFields,
    SetValue,
)
from interpstack_agents import (
    as_single_field,
    has_many_parts,
    plain_input,
    tool_fault,
    tool_handler,
)
from interpstack_javascript import JAVASCRIPT
from interpstack_python import PYTHON


async def _answer(given: Any, context: CellContext | None = None) -> Any:
    return given


def _tool(*fields: str) -> HostTool:
    schema = {"properties": {field: {} for field in fields}}
    return HostTool(name="t", call=_answer, input_schema=schema)


@pytest.mark.parametrize(
    ("value", "plain", "expected"),
    [
        (UNDEFINED, False, {}),
        (None, True, {}),
        ("text", True, {"a": "text"}),
        ({"a": MapValue([("k", 1)]), "b": UNDEFINED}, False, {"a": {"k": 1}}),
    ],
)
async def test_the_handler_prepares_the_input(value: Any, plain: bool, expected: Any) -> None:
    context = CellContext("key", None).for_request(1, "call", plain)
    assert await tool_handler("tools.t", _tool("a"), JAVASCRIPT)(value, context) == expected


async def test_the_handler_passes_a_plain_input_on_as_it_is() -> None:
    value = {"a": [1]}
    context = CellContext("key", None).for_request(1, "call", True)
    assert await tool_handler("tools.t", _tool("a"), JAVASCRIPT)(value, context) is value


@pytest.mark.parametrize(
    ("value", "large"),
    [
        ([0] * 999, False),
        ([0] * 1000, True),
        ({"a": [{"b": 1}] * 500}, True),
        (MapValue([(1, 2)] * 500), True),
        ([SetValue([1] * 999)], True),
        ("x" * 2000, False),
    ],
)
def test_inputs_of_many_parts(value: Any, large: bool) -> None:
    assert has_many_parts(value) is large


class _Noted(dict[str, Any]):
    """An input that notes the threads in which its fields are read."""

    threads: ClassVar[list[str]] = []

    def items(self) -> Any:
        self.threads.append(threading.current_thread().name)
        return super().items()


@pytest.mark.parametrize("parts", [10, 1000])
async def test_an_input_of_many_parts_is_prepared_off_the_loop(parts: int) -> None:
    _Noted.threads.clear()
    context = CellContext("key", None).for_request(1, "call", False)
    handler = tool_handler("tools.t", _tool("a"), JAVASCRIPT)
    assert await handler(_Noted(a=[UNDEFINED] * parts), context) == {"a": [None] * parts}
    assert _Noted.threads[0].startswith("interpstack-handler") is (parts == 1000)


@pytest.mark.parametrize(
    ("language", "message"),
    [
        (
            JAVASCRIPT,
            "tools.t takes one object, as in tools.t({a: %s}); its fields are: a?: unknown",
        ),
        (PYTHON, "tools.t takes arguments by name, as in tools.t(a=%s); its fields are: a: "),
    ],
)
@pytest.mark.parametrize(
    ("value", "shown"), [(3, "3"), ([1], "…"), ("text", "text"), ("x" * 99, "…")]
)
def test_the_handler_shows_a_call_in_the_language_of_the_guest(
    language: GuestLanguage, message: str, value: Any, shown: str
) -> None:
    handler = tool_handler("tools.t", _tool("a", "b"), language)
    with pytest.raises(TypeError) as raised:
        handler(value, CellContext("key", None))
    shown = language.literal(shown) if shown == "text" else shown
    assert message % shown in str(raised.value)


@pytest.mark.parametrize(
    ("language", "message"),
    [
        (
            JAVASCRIPT,
            "tools.t has no field 'c'; its fields are: q: string, limit?: number, \"a b\"?:",
        ),
        (PYTHON, "tools.t has no field 'c'; its fields are: q: str, limit: int = 3, **fields: Any"),
    ],
)
def test_an_unknown_field_is_told_with_the_types_of_the_others(
    language: GuestLanguage, message: str
) -> None:
    fields = {"q": {"type": "string"}, "limit": {"type": "integer", "default": 3}, "a b": {}}
    schema = {"type": "object", "properties": fields, "required": ["q"]}
    handler = tool_handler("tools.t", attrs.evolve(_tool("a"), input_schema=schema), language)
    with pytest.raises(TypeError) as raised:
        handler({"c": 1}, CellContext("key", None))
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize(
    ("fields", "value", "expected"),
    [
        (["a"], "text", {"a": "text"}),
        (["a", "b"], "text", "text"),
        ([], "text", "text"),
        (["a"], {"a": 1}, {"a": 1}),
        (["a"], 1, 1),
        (None, "text", "text"),
    ],
)
def test_a_text_is_the_field_of_a_tool_with_one_field(
    fields: list[str] | None, value: Any, expected: Any
) -> None:
    schema = {} if fields is None else {"properties": {field: {} for field in fields}}
    tool = HostTool(name="t", call=_answer, input_schema=schema)
    assert as_single_field(value, tool) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1, "b": UNDEFINED}, {"a": 1}),
        ([UNDEFINED, None], [None, None]),
        (MapValue([("a", {"b": UNDEFINED})]), {"a": {}}),
        (MapValue([(1, 2), (-3, 4)]), {"1": 2, "-3": 4}),
        (MapValue([]), {}),
        (MapValue([(BigInt(7), 1)]), {"7": 1}),
        (MapValue([(2**70, 1)]), [[2**70, 1]]),
        (MapValue([(1, 2), ("1", 3)]), [[1, 2], ["1", 3]]),
        (MapValue([(True, 1)]), [[True, 1]]),
        (MapValue([(1.5, 1)]), [[1.5, 1]]),
        (MapValue([(MapValue([("k", 1)]), SetValue([1]))]), [[{"k": 1}, [1]]]),
        (SetValue([1, UNDEFINED, SetValue([2])]), [1, None, [2]]),
        (ErrorValue("TypeError", "m", "at x"), {"name": "TypeError", "message": "m"}),
        (UNDEFINED, None),
        (b"bytes", b"bytes"),
    ],
)
def test_inputs_have_the_types_that_tools_take(value: Any, expected: Any) -> None:
    assert plain_input(value) == expected


_BOOKED = {
    "type": "object",
    "properties": {
        "room": {"type": "string", "enum": ["blue", "red"]},
        "seats": {"type": "integer"},
        "price": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "paid": {"type": "boolean"},
        "notes": {"type": "array", "items": {"type": "string"}},
        "who": {"$ref": "#/$defs/Person"},
        "at": {"type": "string", "format": "date-time"},
        "any": {},
        "kind": {"const": "table"},
    },
    "required": ["room", "seats"],
    "$defs": {"Person": {"type": "object", "properties": {"name": {"type": "string"}}}},
}


def _fault(value: Any, schema: Any = _BOOKED, **fields: Any) -> str:
    tool = HostTool(name="book", call=_answer, input_schema=schema, **fields)
    error = tool_fault("tools.book", tool, JAVASCRIPT, value)
    assert error is None or error.name == ("ToolError" if "refuses" in fields else "TypeError")
    return "" if error is None else error.message


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("blue", "tools.book takes one object, as in tools.book({room: "),
        ([], "tools.book takes one object, as in tools.book({room: "),
        (UNDEFINED, "tools.book needs the field 'room'; its fields are: room: "),
        ({"room": UNKNOWN}, "tools.book needs the field 'seats'; its fields are: "),
        ({"room": "red", "seats": UNDEFINED}, "tools.book needs the field 'seats'; "),
        ({"room": "red", "seat": UNKNOWN}, "tools.book has no field 'seat'; its fields are: "),
        (OpenFields(rooms=UNKNOWN), "tools.book has no field 'rooms'; its fields are: "),
        ({"room": "gray", "seats": UNKNOWN}, 'tools.book: field \'room\' takes "blue" or "red"; '),
        ({"room": "red", "seats": "two"}, "tools.book: field 'seats' takes integer; got \"two\"; "),
        ({"room": "red", "seats": [2]}, "tools.book: field 'seats' takes integer; got "),
        (
            {"room": "red", "seats": 2, "price": "dear"},
            "tools.book: field 'price' takes number or ",
        ),
        ({"room": "red", "seats": 2, "paid": "later"}, "tools.book: field 'paid' takes boolean; "),
        ({"room": "red", "seats": 2, "notes": 5}, "tools.book: field 'notes' takes array; got 5; "),
        ({"room": "red", "seats": 2, "who": 5}, "tools.book: field 'who' takes object; got 5; "),
        ({"room": "red", "seats": 2, "who": {"nmae": 1}}, "tools.book has no field 'who.nmae'; "),
        (OpenFields(seats={"a": 1}), "tools.book: field 'seats' takes integer; got "),
    ],
)
def test_a_call_that_no_library_would_take_is_a_fault(value: Any, words: str) -> None:
    assert _fault(value).startswith(words)


@pytest.mark.parametrize(
    "value",
    [
        UNKNOWN,
        [UNKNOWN],
        OpenFields(),
        {"room": UNKNOWN, "seats": UNKNOWN},
        {"room": "red", "seats": 2},
        {"room": " RED ", "seats": "2"},
        {"room": "red", "seats": "1,000"},
        {"room": "red", "seats": 2.0},
        {"room": "red", "seats": None},
        {"room": "red", "seats": True},
        {"room": "red", "seats": 2, "price": None},
        {"room": "red", "seats": 2, "price": "inf"},
        {"room": "red", "seats": 2, "paid": "yes"},
        {"room": "red", "seats": 2, "paid": 1},
        {"room": "red", "seats": 2, "notes": '["a"]'},
        {"room": "red", "seats": 2, "notes": "a,b"},
        {"room": "red", "seats": 2, "notes": [UNKNOWN]},
        {"room": "red", "seats": 2, "who": '{"name": "Ann"}'},
        {"room": "red", "seats": 2, "who": {"name": UNKNOWN}},
        {"room": "red", "seats": 2, "at": 0},
        {"room": "red", "seats": 2, "any": [{}]},
        {"room": "red", "seats": 2, "kind": "chair"},
        {"room": 1, "seats": 2},
    ],
)
def test_what_a_library_may_take_is_no_fault(value: Any) -> None:
    assert _fault(value) == ""


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}]},
        {"properties": {"a": {"type": "integer"}}, "if": {}, "required": ["a"]},
        {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {}}, "required": ["a"]}}},
        {"properties": {"a": {"type": "integer", "default": 1}}, "required": ["a"]},
        {"properties": {"a": {"type": "rational"}}, "required": []},
        {"properties": {"a": {"type": ["integer", 5]}}, "required": [5]},
        {"properties": {"a": 5}, "required": "a"},
        {"properties": {"a": {"anyOf": "x"}}, "required": None},
    ],
)
def test_schemas_that_do_not_decide_make_no_fault(schema: Any) -> None:
    for value in ({}, {"a": UNKNOWN}, OpenFields(a=UNKNOWN)):
        assert _fault(value, schema) == ""


def test_a_tool_says_itself_what_it_takes() -> None:
    asked: list[Any] = []

    def refuses(known: Any, others: Any) -> str:
        asked.append((dict(known), set(others)))
        return "no" if known.get("room") == 5 else ""

    for value, words in (
        ({"room": "red", "seats": 2}, ""),
        ({"room": "red", "seats": UNKNOWN}, ""),
        ({"room": "red", "seats": "two"}, ""),
        ({"room": 5, "seats": UNKNOWN}, "no"),
        ({"seats": 1}, ""),
        (OpenFields(room=5), ""),
    ):
        assert _fault(value, refuses=refuses) == words
    assert asked == [
        ({"room": "red", "seats": "two"}, set()),
        ({"room": 5}, {"seats"}),
        ({"seats": 1}, set()),
    ]
