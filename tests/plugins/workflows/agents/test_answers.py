"""Answers are checked against the schema that a script asks for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpstack_workflows.agents import answers
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
        ({}, "not json", "not json"),
        ({"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"}, "5", 5),
    ],
)
async def test_answers_that_fit(schema: Any, answer: Any, value: Any) -> None:
    checked = AnswerSchema(schema)
    assert checked.value(answer) == value
    assert await checked.faults(value) == []


#: What is no text.
_NONE = {"type": ["number", "boolean", "null", "object", "array"]}
_PROSE = "Sure! Here it is:\n\n```json\n%s\n```\nAnything else?"


@pytest.mark.parametrize(
    ("schema", "answer", "value"),
    [
        ({"type": ["string", "null"]}, "42", "42"),
        ({"type": ["string", "null"]}, "null", None),
        *(
            (schema, answer, value)
            for schema in ({"type": "string"}, {"type": ["string"]}, {"minLength": 1, "not": _NONE})
            for answer, value in (
                ('"x"', "x"),
                ('```json\n"x"\n```', "x"),
                ('Here:\n```\n"x"\n```', "x"),
                ("x", "x"),
                ('say "x"', 'say "x"'),
                ("123", "123"),
                ("null", "null"),
                ('{"a": 1}', '{"a": 1}'),
                (_PROSE % '{"score": 1}', _PROSE % '{"score": 1}'),
                ("```\nplain prose\n```", "```\nplain prose\n```"),
            )
        ),
        ({"type": "string", "enum": ["x"]}, '"x"', "x"),
        ({"type": "string", "enum": ["x"]}, "x", "x"),
        ({"type": "string", "const": '"x"'}, '"x"', '"x"'),
        ({"enum": ["1", "2"]}, "1", "1"),
        ({"const": "true"}, "true", "true"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "42", 42),
        (_SCORE, _PROSE % '{"score": 1}', {"score": 1}),
        (_SCORE, '```\n{"score": 2}\n```\nDone.', {"score": 2}),
    ],
)
async def test_text_that_fits_as_text_or_in_a_fence(schema: Any, answer: Any, value: Any) -> None:
    assert await AnswerSchema(schema).read_answer(answer) == (value, [])


@pytest.mark.parametrize(
    "answer",
    [
        _PROSE % '{"score": 1}' + _PROSE % '{"score": 2}',
        'First I thought ```{"score": 1}``` and then no.',
        '```json\n{"score": 1}\nno end',
        '{"score": 1} or {"score": 2}',
    ],
)
async def test_text_with_no_single_value_does_not_fit(answer: str) -> None:
    value, faults = await AnswerSchema(_SCORE).read_answer(answer)
    assert value == answer
    assert faults


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/none"},
        {"items": {"$ref": "#/$defs/a~1b"}, "$defs": {"a": {}}},
        {"prefixItems": [{}], "items": {"$ref": "#/prefixItems/1"}},
    ],
)
def test_references_that_lead_nowhere_are_refused_before_any_call(schema: Any) -> None:
    with pytest.raises(SchemaFault, match=r"\$ref '#/.*' names nothing in the schema"):
        AnswerSchema(schema)


async def test_data_of_a_schema_are_no_references() -> None:
    schema = {"enum": [{"$ref": "#/none"}], "default": {"$ref": "#/none"}}
    assert await AnswerSchema(schema).faults({"$ref": "#/none"}) == []
    nested = {"$defs": {"a/b": {"type": "integer"}}, "$ref": "#/$defs/a~1b"}
    assert await AnswerSchema(nested).faults(5) == []


async def test_faults_name_their_place() -> None:
    checked = AnswerSchema(_SCORE)
    assert await checked.faults({"score": "high"}) == ["$.score: 'high' is not of type 'number'"]
    (fault,) = await checked.faults("text")
    assert fault.startswith("$: 'text' is not of type 'object'")
    asked = checked.correction("Rate it", [fault])
    assert asked.startswith("Rate it\n\n")
    assert fault in asked


async def test_faults_are_bounded() -> None:
    checked = AnswerSchema({"items": {"type": "number"}})
    faults = await checked.faults(["x" * 10_000] * 1000)
    assert len(faults) == 10
    assert max(map(len, faults)) < 400


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (5, "takes a JSON Schema; got 5"),
        ({"type": "nothing"}, "is not a JSON Schema: 'nothing' is not valid"),
        ({"pattern": "(a+)+$"}, "pattern is not supported"),
        ({"unevaluatedProperties": False}, "unevaluatedProperties is not supported, for its"),
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


async def test_a_schema_that_never_ends_is_a_fault() -> None:
    checked = AnswerSchema({"$ref": "#"})
    assert await checked.faults(1) == ["$: the value or the schema is nested too deeply"]


def _doubling(depth: int) -> dict[str, Any]:
    """A schema of a few lines that is evaluated 2 ** depth times."""
    defs: dict[str, Any] = {"d0": {"type": "number"}}
    for level in range(1, depth + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        defs[f"d{level}"] = {"allOf": [below, below]}
    return {"$defs": defs, "$ref": f"#/$defs/d{depth}"}


async def test_schemas_that_double_their_work_stop_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, many = await AnswerSchema.read(_doubling(4)), await AnswerSchema.read(_doubling(60))
    assert await few.faults(1) == []
    assert await few.faults("x") == ["$: 'x' is not of type 'number'"] * 10
    monkeypatch.setattr(answers, "_SECONDS", 0.2)
    expected = ["$: the schema takes more than 0.2 seconds to evaluate; simplify it"]
    assert await many.faults(1) == expected


async def test_the_event_loop_goes_on_while_a_schema_is_evaluated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = await AnswerSchema.read(_doubling(60))
    monkeypatch.setattr(answers, "_SECONDS", 0.5)
    checking = asyncio.create_task(many.faults(1))
    turns = 0
    while not checking.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert turns > 5


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, 2], True),
        ([1, 1.0], False),
        ([1, True], True),
        ([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], False),
        ([[], {}], True),
    ],
)
async def test_equal_items(items: list[Any], unique: bool) -> None:
    faults = await AnswerSchema({"uniqueItems": True}).faults(items)
    assert faults == ([] if unique else ["$: the array has items that are equal"])


async def test_many_items_are_compared_in_linear_time() -> None:
    items = [{"n": n} for n in range(20_000)]  # each with each would be 200 million
    assert await AnswerSchema({"uniqueItems": True}).faults(items) == []


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Here:\n```\n{}\n```\nDone."])
async def test_an_object_that_names_a_field_twice_is_refused_by_its_name(around: str) -> None:
    schema = AnswerSchema({"type": "object"})
    text = around.format('{"a": {"b": 1, "b": 2}}')
    value, faults = await schema.read_answer(text)
    assert value == text
    assert faults == ["$: an object names the field 'b' twice; give each field once"]
    assert await AnswerSchema({"type": "string"}).read_answer(text) == (text, [])


def test_what_is_no_json_stays_text() -> None:
    assert AnswerSchema({}).value("NaN") == "NaN"
    assert AnswerSchema({}).value("[1e999]") == "[1e999]"


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"a": [1]}\n```',
        '\n```JSON\r\n{"a": [1]}\r\n```\n',
        '```\n{"a": [1]}```',
        '```json {"a": [1]}```',
        '````json\n{"a": [1]}\n````',
    ],
)
def test_fenced_json_is_its_value(answer: str) -> None:
    assert AnswerSchema({"type": "object"}).value(answer) == {"a": [1]}


@pytest.mark.parametrize(
    "answer",
    [
        '```json\n{"a": 1}\n``` and more',
        'See: ```json\n{"a": 1}\n```',
        "```js\n({a: 1})\n```",
        "```json\n1\n```\n```json\n2\n```",
        "``````",
        "```",
        '``{"a": 1}``',
        "`" * 100_001,
    ],
)
def test_other_text_is_no_fenced_json(answer: str) -> None:
    assert AnswerSchema({"type": "object"}).value(answer) == answer
