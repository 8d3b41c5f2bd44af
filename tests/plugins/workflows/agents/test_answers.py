"""Answers are held to the schema that a script asks for."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_workflows.agents.answers import AnswerSchema, SchemaFault

_SCORE = {
    "type": "object",
    "properties": {"score": {"type": "number"}},
    "required": ["score"],
}


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        (_SCORE, {"score": 1}, {"score": 1}),
        (_SCORE, '{"score": 1}', {"score": 1}),
        ({"type": "string"}, "5", "5"),
        ({}, "not json", "not json"),
        ({"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"}, "5", 5),
    ],
)
def test_answers_that_fit(schema: Any, answer: Any, value: Any) -> None:
    checked = AnswerSchema(schema)
    assert checked.value(answer) == value
    assert checked.faults(value) == []


def test_faults_name_their_place() -> None:
    checked = AnswerSchema(_SCORE)
    assert checked.faults({"score": "high"}) == ["$.score: 'high' is not of type 'number'"]
    (fault,) = checked.faults("text")
    assert fault.startswith("$: 'text' is not of type 'object'")
    asked = checked.correction("Rate it", [fault])
    assert asked.startswith("Rate it\n\n")
    assert fault in asked


def test_faults_are_bounded() -> None:
    checked = AnswerSchema({"items": {"type": "number"}})
    faults = checked.faults(["x" * 10_000] * 1000)
    assert len(faults) == 10
    assert max(map(len, faults)) < 400


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (5, "takes a JSON Schema; got 5"),
        ({"type": "nothing"}, "is no JSON Schema: 'nothing' is not valid"),
        ({"pattern": "(a+)+$"}, "pattern is not supported"),
        ({"items": [{"patternProperties": {"(a+)+$": {}}}]}, "patternProperties is not supported"),
        ({"$ref": "http://127.0.0.1:9/schema"}, "takes a reference within the schema"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "takes a reference within the schema"),
    ],
)
def test_other_schemas_are_refused(schema: Any, message: str) -> None:
    with pytest.raises(SchemaFault, match=message.replace("(", r"\(")):
        AnswerSchema(schema)


def test_a_property_may_have_the_name_of_a_keyword() -> None:
    assert AnswerSchema({"properties": {"pattern": {"type": "string"}}, "required": ["pattern"]})


def test_a_schema_that_never_ends_is_a_fault() -> None:
    checked = AnswerSchema({"$ref": "#"})
    assert checked.faults(1) == ["$: the value or the schema is nested too deeply"]
