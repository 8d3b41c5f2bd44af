"""Forms: fields are bounded, and answers are checked before anything is resumed."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest
from starlette.requests import Request

from interpstack_inspect.api import AskedCall, Question
from interpstack_inspect.serving.forms import FormFault, answer_of, read_form
from interpstack_inspect.shown.texts import visible

CALL = AskedCall(name="pay", args="{}", allowed=["approve", "edit", "reject", "respond"])
ASKED = Question(id="q", digest="d", calls=[CALL])


def request(body: bytes, kind: str = "application/x-www-form-urlencoded") -> Request:
    sent = [body[:5], body[5:]]

    async def receive() -> Any:
        part = sent.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(sent)}

    headers = [(b"content-type", kind.encode())]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


async def test_fields_of_a_form() -> None:
    assert await read_form(request(b"a=1&b=%E2%82%AC+x&c=")) == {"a": "1", "b": "€ x", "c": ""}
    assert await read_form(request(b"")) == {}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"a=1", "multipart/form-data"),
        (b"a=1", ""),
        (b"a", "application/x-www-form-urlencoded"),
        (b"a=%ff", "application/x-www-form-urlencoded"),
        (b"a=\xff", "application/x-www-form-urlencoded"),
        (b"&".join([b"a=1"] * 2000), "application/x-www-form-urlencoded"),
    ],
)
async def test_what_is_no_form_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(FormFault, match="not a form of this page"):
        await read_form(request(body, kind))


async def test_a_form_that_is_too_large_is_refused() -> None:
    with pytest.raises(FormFault, match="too large"):
        await read_form(request(b"a=" + b"x" * 2**20))


@pytest.mark.parametrize(
    ("form", "decision"),
    [
        ({"decision-0": "approve", "message-0": " ", "args-0": "{\r\n}"}, {"type": "approve"}),
        ({"decision-0": "reject", "args-0": "?"}, {"type": "reject"}),
        ({"decision-0": "reject"}, {"type": "reject"}),
        ({"decision-0": "reject", "message-0": "a\r\nb"}, {"type": "reject", "message": "a\nb"}),
        ({"decision-0": "respond", "message-0": ""}, {"type": "respond", "message": ""}),
        (
            {"decision-0": "edit", "args-0": '{"a": [1, "\\u202e"]}'},
            {"type": "edit", "edited_action": {"name": "pay", "args": {"a": [1, "\u202e"]}}},
        ),
    ],
)
def test_decisions(form: dict[str, str], decision: Any) -> None:
    assert answer_of(ASKED, form) == {"decisions": [decision]}


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({}, "Choose a decision for call 1, pay."),
        ({"decision-0": "pay"}, "pay can be decided with approve, edit, reject, respond only."),
        ({"decision-0": "approve", "args-0": '{"a": 1}'}, "pay were changed, and approve makes"),
        ({"decision-0": "approve", "args-0": ""}, "Choose edit, or put the arguments back"),
        ({"decision-0": "approve", "message-0": "but"}, "message about pay: approve takes none"),
        (
            {"decision-0": "edit", "args-0": "{}", "message-0": "but"},
            "message about pay: edit takes none",
        ),
        ({"decision-0": "edit"}, "the arguments of pay is not JSON"),
        ({"decision-0": "edit", "args-0": "[1]"}, "an object of JSON"),
        ({"decision-0": "edit", "args-0": '{"a": NaN}'}, "NaN is not in JSON"),
        ({"decision-0": "edit", "args-0": '{"a": 1e999}'}, "1e999 is too large for a number"),
        ({"decision-0": "edit", "args-0": '{"b": {"a": 1, "a": 2}}'}, "names the field 'a' twice"),
        ({"decision-0": "edit", "args-0": "[" * 10**5}, "is not JSON"),
    ],
)
def test_a_decision_that_is_missing_or_wrong(form: dict[str, str], message: str) -> None:
    with pytest.raises(FormFault, match=message):
        answer_of(ASKED, form)


@pytest.mark.parametrize("value", ["a\tb\n", "\u202e", "\U000e0001", "\\u{e0001}", 10**30, 1.0])
def test_arguments_that_nobody_changed_are_approved(value: Any) -> None:
    args = json.dumps({"a": value}, ensure_ascii=False, indent=2)
    asked = Question(id="q", digest="d", calls=[attrs.evolve(CALL, args=args)])
    sent = visible(args).replace("\n", "\r\n")  # as the page shows them, and a browser sends them
    form = {"decision-0": "approve", "args-0": sent}
    assert answer_of(asked, form) == {"decisions": [{"type": "approve"}]}
    changed = form | {"args-0": sent.replace("a", "b", 1)}
    with pytest.raises(FormFault, match="were changed"):
        answer_of(asked, changed)


def test_each_call_has_a_decision_of_its_own() -> None:
    asked = Question(id="q", digest="d", calls=[CALL, CALL])
    form = {"decision-0": "approve", "decision-1": "reject"}
    assert answer_of(asked, form) == {"decisions": [{"type": "approve"}, {"type": "reject"}]}
    with pytest.raises(FormFault, match="call 2"):
        answer_of(asked, {"decision-0": "approve"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("yes", "yes"),
        (' "1" ', "1"),
        ("1", 1),
        ("two\r\nlines", "two\nlines"),
        ("NaN", "NaN"),
    ],
)
def test_a_question_of_another_form_takes_json_or_a_text(text: str, value: Any) -> None:
    asked = Question(id="q", digest="d", text="?")
    assert answer_of(asked, {"answer": text}) == value


@pytest.mark.parametrize(
    ("form", "message"),
    [({}, "Write an answer"), ({"answer": " "}, "Write an"), ({"answer": "{a}"}, "is not JSON")],
)
def test_an_answer_that_is_missing_or_half_json(form: dict[str, str], message: str) -> None:
    with pytest.raises(FormFault, match=message):
        answer_of(Question(id="q", digest="d", text="?"), form)


def test_a_choice_is_one_of_those_that_were_shown() -> None:
    asked = Question(id="q", digest="d", text="?", choices=["1", 1, None])
    assert [answer_of(asked, {"choice": str(place)}) for place in range(3)] == ["1", 1, None]
    for wrong in ({}, {"choice": "3"}, {"choice": "-1"}, {"choice": "\u00b2"}, {"answer": "1"}):
        with pytest.raises(FormFault, match="Choose one"):
            answer_of(asked, wrong)


def test_decisions_of_a_run_have_the_ids_of_its_approvals() -> None:
    value = AskedCall(name="", args='"Which?"', allowed=["answer"], id="b")
    asked = Question(id="q", digest="d", calls=[attrs.evolve(CALL, id="a"), value])
    form = {"decision-0": "approve", "answer-1": "the second"}
    assert answer_of(asked, form) == {"a": {"type": "approve"}, "b": "the second"}
