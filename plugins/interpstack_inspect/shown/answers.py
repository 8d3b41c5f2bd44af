"""Answers to the model, taken apart: notices, console output, the result, the error."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["answer_parts", "failure_reason"]

#: One part of an envelope; texts inside are escaped, so they hold no tags.
_PART: Final = re.compile(
    r"\s*<(?P<tag>notice|stdout|result|error)(?P<more>(?: \w+=\"[^\"<>]*\")*)>"
    r"(?P<text>[^<]*)</(?P=tag)>"
)
#: The title of an error with its type.
_KIND: Final = re.compile(r"Error(?: \(type=\"(?P<type>[^\"]*)\".*\))?")
_TITLES: Final = {"notice": "Notice", "stdout": "Console", "result": "Result", "error": "Error"}


def answer_parts(answer: str) -> Iterator[tuple[str, str]]:
    """The parts of an answer, each with its title; an answer in another form is one part.

    Args:
        answer: The answer, as the model got it.
    """
    end = 0
    while (part := _PART.match(answer, end)) is not None:
        title = _TITLES[part["tag"]]
        more = html.unescape(part["more"]).strip()
        yield f"{title} ({more})" if more else title, html.unescape(part["text"]).strip("\n")
        end = part.end()
    rest = answer[end:].strip("\n")
    if rest:
        yield "Further text" if end else "Answer", rest


def failure_reason(answer: str) -> str:
    """The reason of a failure in one line: the type and the message of the error of an answer.

    Args:
        answer: The answer, as the model got it; one of another form is its first line.
    """
    for title, text in answer_parts(answer):
        kind = _KIND.fullmatch(title)
        if kind is not None or title == "Answer":
            line = next((line.strip() for line in text.split("\n") if line.strip()), "")
            named = kind["type"] if kind is not None else None
            begins = line.startswith(f"{named}:") or not named
            return line if begins else f"{named}: {line}".removesuffix(": ")
    return ""
