"""Files of types: exported, reviewed by a person, and used as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, LearnedSchema
from interpstack.checks import shown
from interpstack_learned.table import LearnedVersion

__all__ = ["ReviewedType", "read_reviewed", "reviewed_text"]

_FORM: Final = "interpstack reviewed types 1"
_BYTES: Final = 2**20
_KEYS: Final = frozenset({"tool", "version", "seen", "answer"})


@attrs.frozen
class ReviewedType:
    """The type of a tool's answers in a file.

    Attributes:
        tool: The tool's own name.
        version: The version of the tool that it is for; `None` for every version.
        learned: The type, with the number of answers that it was made of.
    """

    tool: str
    version: str | None
    learned: LearnedSchema


def reviewed_text(versions: Iterable[LearnedVersion]) -> str:
    """The text of a file with learned types."""
    types = [
        {
            "tool": one.tool,
            "version": one.version,
            "seen": one.shape.seen,
            "answer": one.shape.schema(),
        }
        for one in versions
    ]
    return json.dumps({"form": _FORM, "types": types}, indent=2, ensure_ascii=False) + "\n"


def read_reviewed(path: str | Path) -> tuple[ReviewedType, ...]:
    """The types in a file.

    Raises:
        ConfigurationError: The file cannot be read, or has another form.
    """
    place = Path(path)
    try:
        with place.open("rb") as stream:
            data = stream.read(_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"types: {place} cannot be read: {error}") from error
    if len(data) > _BYTES:
        raise ConfigurationError(f"types: {place} has more than {_BYTES} bytes")
    try:
        form = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"types: {place} is not JSON: {error}") from error
    rows = form.get("types") if isinstance(form, dict) and form.get("form") == _FORM else None
    if not isinstance(rows, list):
        raise ConfigurationError(
            f"types: {place} is not a file of types, as `interpstack types export` writes it"
        )
    made = tuple(_reviewed(row, place) for row in rows)
    keys = [(one.tool, one.version) for one in made]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise ConfigurationError(f"types: {place} has the tool {twice[0]!r:.80} twice")
    return made


def _reviewed(row: Any, place: Path) -> ReviewedType:
    if not isinstance(row, dict) or row.keys() - _KEYS:
        raise ConfigurationError(
            f"types: a type in {place} has the keys tool, version, seen and answer; "
            f"got {shown(row)}"
        )
    tool, version, answer, seen = (row.get(k) for k in ("tool", "version", "answer", "seen"))
    if not isinstance(tool, str) or not tool or not isinstance(version, (str, type(None))):
        raise ConfigurationError(
            f"types: tool and version of a type in {place} are texts; got {shown(row)}"
        )
    given: Any = answer
    try:
        learned = LearnedSchema(schema=given, seen=0 if seen is None else seen)
    except ConfigurationError as error:
        raise ConfigurationError(f"types: {tool!r:.80} in {place}: {error}") from error
    return ReviewedType(tool, version, learned)
