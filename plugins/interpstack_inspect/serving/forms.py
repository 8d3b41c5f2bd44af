"""Forms that answer questions: what a browser sent, checked and turned into an answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from interpstack.checks import unique_fields
from interpstack_inspect.contract.records import AskedCall, Question
from interpstack_inspect.shown.texts import visible

__all__ = ["FormFault", "answer_of", "read_form"]

#: Bytes and fields of a form.
_MOST_BYTES: Final = 2**20
_MOST_FIELDS: Final = 1000


class FormFault(Exception):
    """A form that cannot be used; the message is for the person who sent it."""


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields of a form.

    Raises:
        FormFault: It is too large, no form, or has a field twice.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise FormFault("This is not a form of this page.")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BYTES:
            raise FormFault(f"The form is too large: it takes {_MOST_BYTES:,} bytes.")
    try:
        fields = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(body),
            errors="strict",
            max_num_fields=_MOST_FIELDS,
        )
    except ValueError as error:
        raise FormFault("This is not a form of this page.") from error
    form = dict(fields)
    if len(form) != len(fields):
        raise FormFault("The form has a field twice, so its decision is ambiguous.")
    return form


def answer_of(question: Question, form: Mapping[str, str]) -> Any:
    """The answer to a question that a form gives.

    Raises:
        FormFault: An answer or a decision is missing or not allowed, or a text is not JSON.
    """
    if question.choices is not None:
        return _choice(question.choices, form.get("choice", ""))
    if not question.calls:
        return _value(form.get("answer", ""))
    decisions = [_decision(call, number, form) for number, call in enumerate(question.calls)]
    if all(call.id for call in question.calls):
        return {call.id: one for call, one in zip(question.calls, decisions, strict=True)}
    return {"decisions": decisions}


def _choice(choices: Sequence[Any], place: str) -> Any:
    """The choice with a number, from 0."""
    if not (place.isascii() and place.isdigit() and len(place) < 9 and int(place) < len(choices)):
        raise FormFault("Choose one of the answers.")
    return choices[int(place)]


def _value(text: str) -> Any:
    """A value that a person wrote: JSON, or else a plain text."""
    written = text.replace("\r\n", "\n").strip()
    if not written:
        raise FormFault("Write an answer.")
    if written[0] in '{["':
        return _json(written, "the answer")
    try:
        return _parsed(written)
    except (ValueError, RecursionError):
        return written


def _decision(call: AskedCall, number: int, form: Mapping[str, str]) -> Any:
    if [*call.allowed] == ["answer"]:
        return _value(form.get(f"answer-{number}", ""))
    kind = form.get(f"decision-{number}", "")
    if not kind:
        raise FormFault(f"Choose a decision for call {number + 1}, {call.name}.")
    if kind not in call.allowed:
        raise FormFault(f"{call.name} can be decided with {', '.join(call.allowed)} only.")
    message = form.get(f"message-{number}", "").replace("\r\n", "\n")
    written = form.get(f"args-{number}")
    if kind == "approve" and written is not None and not _is_as_shown(written, call.args):
        raise FormFault(
            f"The arguments of {call.name} were changed, and approve makes the call with those "
            "that were asked about. Choose edit, or put the arguments back."
        )
    if kind in ("approve", "edit") and message.strip():
        raise FormFault(
            f"Nobody would read the message about {call.name}: {kind} takes none. Choose reject or "
            "respond, or delete the message."
        )
    if kind == "edit":
        args = _json(written or "", f"the arguments of {call.name}")
        if not isinstance(args, dict):
            raise FormFault(f"The arguments of {call.name} are an object of JSON: {{…}}.")
        return {"type": kind, "edited_action": {"name": call.name, "args": args}}
    if kind == "respond" or (kind == "reject" and message):
        return {"type": kind, "message": message}
    return {"type": kind}


def _is_as_shown(written: str, args: str) -> bool:
    """Whether the field of a call's arguments has what the page put into it."""
    if written.replace("\r\n", "\n").strip() == visible(args).strip():
        return True
    try:
        return bool(json.dumps(_parsed(written)) == json.dumps(json.loads(args)))
    except (ValueError, RecursionError):
        return False


def _json(text: str, what: str) -> Any:
    try:
        return _parsed(text)
    except (ValueError, RecursionError) as error:
        raise FormFault(f"In the form, {what} is not JSON: {error}.") from error


def _parsed(text: str) -> Any:
    return json.loads(
        text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=unique_fields
    )


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text:.40} is too large for a number")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not in JSON")
