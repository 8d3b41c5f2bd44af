"""Cells in a fence of Markdown, as models write code in their answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

from interpstack.contracts.languages import GuestLanguage
from interpstack.contracts.protocol import Cell, GuestError
from interpstack.guests import place_at

__all__ = ["unfenced"]

#: The first line of a fence behind blank lines: its indentation, its marks and a word.
_OPENING: Final = re.compile(
    r"(?:[ \t]*+(?:\r\n|[\r\n]))*+([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[ \t]*+(?=[\r\n])"
)
#: Words that name no language.
_NEUTRAL: Final = frozenset({"", "code", "plain", "plaintext", "text", "txt"})


def unfenced(cell: Cell, language: GuestLanguage, languages: Sequence[str]) -> Cell | GuestError:
    """The cell without the fence around all of its source; the lines of the fence are then blank.

    A fence that names a dialect makes the cell one of that dialect, unless the cell says its
    language. A fence of another language, or around a part of the source, is the cell's error.

    Args:
        cell: The cell.
        language: The language of the engine.
        languages: Names of all languages that the engine runs.
    """
    source = cell.source
    opening = _OPENING.match(source)
    if opening is None:
        return cell
    indent, marks, word = opening.groups()
    body = source.rstrip()
    last = max(body.rfind("\n"), body.rfind("\r")) + 1
    if last <= opening.end() or not _closes(body[last:], marks):
        return _unclosed(cell, opening) if word and marks.startswith("`") else cell
    dialects = [one for one in language.dialects if one.name in languages]
    known = (one for one in (language, *dialects) if word.casefold() in _words(one))
    found = language if word.casefold() in _NEUTRAL else next(known, None)
    if found is None:
        title = language.title
        message = f"the code is fenced as {word}, and cells are {title}: write it in {title}"
        return _error(cell, opening, message)
    inside = source[opening.end() : last]
    if indent:
        inside = re.sub(rf"(?m)^[ \t]{{1,{len(indent)}}}", "", inside)
    return attrs.evolve(
        cell,
        source=source[: opening.start(1)] + inside + source[len(body) :],
        language=cell.language if found is language else cell.language or found.name,
    )


def _closes(line: str, marks: str) -> bool:
    """Whether a line is the end of a fence."""
    closing = line.strip(" \t\r\n")
    return len(closing) >= len(marks) and not closing.strip(marks[0])


def _unclosed(cell: Cell, opening: re.Match[str]) -> GuestError:
    """The error of a cell whose source goes on behind its fence, or ends in it."""
    lines = re.split(r"[\r\n]", cell.source[opening.end() :])
    ends = any(_closes(line, opening[2]) for line in lines)
    why = "text stands behind the fence of Markdown" if ends else "the fence of Markdown has no end"
    return _error(cell, opening, f"{why}: send the code alone")


def _error(cell: Cell, opening: re.Match[str], message: str) -> GuestError:
    return GuestError("SyntaxError", message, place=place_at(cell.source, opening.start(2)))


def _words(language: GuestLanguage) -> set[str]:
    """Words for a language in fences."""
    endings = (ending.removeprefix(".") for ending in language.endings)
    return {language.name, language.title.casefold(), *language.aliases, *endings, *language.fences}
