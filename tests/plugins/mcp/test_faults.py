"""Faults of messages, in a few words and as ends of requests."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from mcp import types
from pydantic import BaseModel, TypeAdapter, ValidationError

from interpstack_mcp.faults import failed_response, fault_of

RESULT: TypeAdapter[Any] = TypeAdapter(types.CallToolResult | types.InputRequiredResult)


def text(**fields: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": "a"}, {"type": "text", **fields}]}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ({"content": [], "_meta": [1]}, "_meta is not an object"),
        ({}, "content is missing"),
        ({"content": "x"}, "content is not an array"),
        ({"content": [5]}, "content.0 is not an object"),
        ({"content": [], "isError": "maybe"}, "isError is neither true nor false"),
        (text(), "content.1.text is missing"),
        (text(text=1), "content.1.text is not a string"),
        (
            text(text="a", annotations={"priority": 7}),
            "content.1.annotations.priority is not valid: Input should be less than or equal to 1",
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "a:b"}}]},
            "content.0.resource.text is missing",
        ),
        (
            {"content": [{"type": "new"}]},
            "content.0.type is not one of the values that the protocol allows",
        ),
        (
            {"content": [{"type": 5, "text": 1}]},
            "content.0.type is not one of the values that the protocol allows",
        ),
        ([], "it is not an object"),
    ],
)
def test_the_fault_of_the_form_that_an_answer_claims(answer: Any, fault: str) -> None:
    with pytest.raises(ValidationError) as raised:
        RESULT.validate_python(answer, by_name=False)
    assert fault_of(raised.value) == fault


def test_an_unknown_form_is_named_in_whatever_order_its_fields_are_checked() -> None:
    class Text(BaseModel):
        text: str
        type: Literal["text"]

    class Image(BaseModel):
        data: str
        type: Literal["image"]

    for forms in (Text | Image, Text | list[int]):
        with pytest.raises(ValidationError) as raised:
            TypeAdapter[Any](forms).validate_python({"type": "new"})
        assert fault_of(raised.value) == "type is not one of the values that the protocol allows"
    with pytest.raises(ValidationError) as raised:
        TypeAdapter[Any](Text | Image).validate_python({"type": "image"})
    assert fault_of(raised.value) == "data is missing"


def test_a_fault_is_bounded_and_printable() -> None:
    with pytest.raises(ValidationError) as raised:
        TypeAdapter(dict[str, int]).validate_python({"a\n" * 200: "b"})
    assert fault_of(raised.value) == f"{'a' * 40} is not valid: Input should be a valid " + (
        "integer, unable to parse string as an integer"
    )
    assert fault_of(ValueError("x\n" * 1000)) == "x" * 200


@pytest.mark.parametrize(
    ("found", "id_"),
    [
        ({"id": 7, "result": None}, 7),
        ({"id": "7", "error": 1}, "7"),
        ({"id": 7.0, "result": None}, 7),
        ({"id": 7.5, "result": None}, None),
        ({"id": True, "result": None}, None),
        ({"id": 7, "method": "ping"}, None),
        ({"result": {}}, None),
        ([7], None),
    ],
)
def test_a_malformed_response_fails_its_request(found: Any, id_: str | int | None) -> None:
    failed = failed_response(found, "client")
    assert (None if failed is None else failed.id) == id_
    if failed is not None:
        assert type(failed.id) is type(id_)
        assert failed.error.message == "the client's answer is malformed"
