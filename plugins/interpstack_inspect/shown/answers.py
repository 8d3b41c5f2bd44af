"""Answers to the model, taken apart: notices, console output, the result, the error."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

__all__ = ["answer_parts"]

#: One part of an envelope; texts inside are escaped, so they hold no tags.
_PART: Final = re.compile(
    r"\s*<(?P<tag>notice|stdout|result|error)(?P<more>(?: \w+=\"[^\"<>]*\")*)>"
    r"(?P<text>[^<]*)</(?P=tag)>"
)
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
