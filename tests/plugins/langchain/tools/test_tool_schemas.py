"""Tests of interpstack_langchain.tools.tool_schemas."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool, Tool, tool
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from interpstack_langchain.tools import tool_schemas
from interpstack_langchain.tools.tool_calls import host_tool
from interpstack_langchain.tools.tool_schemas import (
    injected_fields,
    input_schema,
    misfit,
    output_schema,
    visible_fields,
)


class Receipt(BaseModel):
    amount: int


@tool
def pay(
    to: str,
    state: Annotated[dict[str, Any], InjectedState],
    call: Annotated[str, InjectedToolCallId],
    euros: int = 1,
) -> Receipt:
    """Pay somebody."""
    return Receipt(amount=euros)


@tool(args_schema={"type": "object", "properties": {"to": {"type": "string"}, "key": {}}})
def described(to: str, key: Annotated[str, InjectedToolArg]) -> str:
    """Whose schema is plain JSON."""
    return to


class Ordered(BaseModel):
    from_: str = Field(alias="from")
    count: int = Field(default=1, ge=1, validation_alias=AliasChoices("number", "n"))


class Either(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    from_: str = Field(alias="from")


def order(from_: str, count: int = 1) -> list[Any]:
    """Order something."""
    return [from_, count]


def test_fields_with_an_alias_are_passed_by_it() -> None:
    made = StructuredTool.from_function(order, args_schema=Ordered)
    assert visible_fields(made) == ("from", "number")
    assert not injected_fields(made)
    schema = input_schema(made)
    assert list(schema["properties"]) == ["from", "number"]
    assert schema["required"] == ["from"]
    assert misfit(made, {"from": "a", "number": 2}) == ""
    assert misfit(made, {"number": 2}) == "from_: Field required"
    assert made.invoke({"from": "a", "number": 2}) == ["a", 2]
    assert visible_fields(StructuredTool.from_function(order, args_schema=Either)) == ("from_",)


PLAIN = Tool("plain", lambda text: text, "Of the old kind.")


def test_callers_pass_what_the_host_does_not_fill_in() -> None:
    assert visible_fields(pay) == ("to", "euros")
    assert injected_fields(pay) == {"state", "call"}
    schema = input_schema(pay)
    assert list(schema["properties"]) == ["to", "euros"]
    assert schema["required"] == ["to"]


def test_injected_fields_of_a_plain_schema_are_those_of_the_function() -> None:
    assert visible_fields(described) == ("to",)
    assert injected_fields(described) == {"key"}


def test_a_tool_of_the_old_kind_takes_one_text() -> None:
    (name,) = visible_fields(PLAIN)
    assert input_schema(PLAIN)["required"] == [name]
    assert output_schema(PLAIN) is None


def test_a_schema_that_cannot_be_made_still_names_the_fields(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(schema: Any) -> Any:
        raise NameError("Later")

    monkeypatch.setattr(tool_schemas, "model_json_schema", fails)
    assert input_schema(pay) == {"type": "object", "properties": {"to": {}, "euros": {}}}


def _returning(annotation: Any, response_format: Any = "content") -> StructuredTool:
    def function() -> Any:
        """Return something."""

    made = StructuredTool.from_function(function, response_format=response_format)
    function.__annotations__["return"] = annotation  # the tool itself may not know it
    return made


@pytest.mark.parametrize(
    ("annotation", "shown"),
    [
        (int, {"type": "integer"}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (None, {"type": "null"}),
        (Any, None),
        ("Nowhere", None),
        (object(), None),
        (ToolMessage, None),
        (Command[Any], None),
        (ToolMessage | str, None),
    ],
)
def test_the_type_that_a_tool_returns(annotation: Any, shown: Any) -> None:
    assert output_schema(_returning(annotation)) == shown


def test_beside_an_artifact_it_is_the_contents() -> None:
    made = _returning(tuple[int, bytes], "content_and_artifact")
    assert output_schema(made) == {"type": "integer"}
    assert output_schema(_returning(int, "content_and_artifact")) is None


def test_it_is_made_once_for_each_function_and_format(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(function: Any, response_format: str) -> Any:
        made.append(response_format)
        return {"of": response_format}

    monkeypatch.setattr(tool_schemas, "_returned_schema", counted)
    one = _returning(int)
    other = StructuredTool.from_function(one.func, response_format="content_and_artifact")
    for _ in range(2):
        assert output_schema(one) == {"of": "content"}
        assert output_schema(other) == {"of": "content_and_artifact"}
    assert made == ["content", "content_and_artifact"]


_JSON = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "euros": {"type": "integer"}, "note": {}},
    "required": ["to"],
}


@pytest.mark.parametrize(
    ("schema", "args", "why"),
    [
        (_JSON, {"to": "Ann", "euros": 5, "note": [1]}, ""),
        (
            _JSON,
            {"to": "Ann", "more": 1},
            "it has no field 'more'; its fields are: to, euros, note",
        ),
        ({**_JSON, "additionalProperties": True}, {"to": "Ann", "more": 1}, ""),
        (_JSON, {"euros": 5}, "to: Field required"),
        (_JSON, {"to": "Ann", "euros": True}, "euros: Input should be of type integer; got True"),
        (_JSON, {"to": 1}, "to: Input should be of type string; got 1"),
        (
            {**_JSON, "additionalProperties": False},
            {"to": "Ann", "more": 1},
            "it has no field 'more'; its fields are: to, euros, note",
        ),
    ],
)
def test_arguments_are_checked_against_a_schema_in_json(schema: Any, args: Any, why: str) -> None:
    made = StructuredTool(name="pay", description="Pay.", args_schema=schema, func=lambda: None)
    assert misfit(made, args) == why


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": [1, 2]},
        {"properties": None, "required": None},
        {"properties": "ab", "required": 5},
        {"properties": {5: {}}, "required": [["x"], 5]},
    ],
)
def test_what_is_no_json_schema_describes_no_fields(schema: Any) -> None:
    made = StructuredTool(name="pay", description="Pay.", args_schema=schema, func=lambda: None)
    assert (visible_fields(made), injected_fields(made)) == ((), frozenset())
    assert misfit(made, {"to": "Ann"}) == ""
    assert host_tool(made).name == "pay"


def test_arguments_are_checked_against_the_fields_that_callers_pass() -> None:
    @tool
    def act(to: str, euros: int, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Act."""
        return to

    assert misfit(act, {"to": "Ann", "euros": 5}) == ""
    assert misfit(act, {"to": 1}) == "to: Input should be a valid string; euros: Field required"
    forged = misfit(act, {"to": "Ann", "euros": 5, "call_id": "x"})
    assert forged == "it has no field 'call_id'; its fields are: to, euros"
    unknown = misfit(act, {"to": "Ann", "euros": 5, "cents": 1})  # the tool would drop it
    assert unknown == "it has no field 'cents'; its fields are: to, euros"


def test_arguments_of_a_tool_of_the_old_kind_are_one_text() -> None:
    old = Tool(name="look", description="Look.", func=str)
    assert misfit(old, {"__arg1": "x"}) == ""
    assert misfit(old, {}) == "it takes one text; got 0 values"
