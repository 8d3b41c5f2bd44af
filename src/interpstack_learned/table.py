"""The shapes of many tools: bounded in number and size, and stored as one JSON text.

A tool is known by its name and its version: another description or other schemas make it another
tool, of which nothing is known yet.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from interpstack import HostTool
from interpstack_learned.shapes import MalformedShape, Shape

__all__ = ["MAX_BYTES", "LearnedTable", "LearnedVersion", "MalformedTypes", "version_of"]

#: Versions of tools that are remembered, in all and of one name; the ones learned last stay.
_VERSIONS: Final = 200
_OF_ONE_NAME: Final = 3
#: Bytes of a stored table.
MAX_BYTES: Final = 256 * 1024
_NAME_CHARS: Final = 128
_FORM: Final = "interpstack learned types 1"
_VERSION: Final = re.compile(r"[0-9a-f]{12}")


class MalformedTypes(ValueError):
    """Stored types have another form, or are damaged."""


def version_of(tool: HostTool) -> str:
    """The version of a tool: a digest of its description and its schemas."""
    said = [tool.description, tool.input_schema, tool.output_schema]
    try:
        text = json.dumps(said, sort_keys=True, default=_plain)
    except (TypeError, ValueError, RecursionError):  # no JSON, or one that holds itself
        text = tool.description
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else type(value).__name__


@attrs.define
class LearnedVersion:
    """What one version of a tool has answered.

    Attributes:
        tool: The tool's own name.
        version: Its version.
        shape: The shape of its answers.
        used: When it was learned from last, in seconds of the epoch.
    """

    tool: str
    version: str
    shape: Shape
    used: int


@attrs.define
class LearnedTable:
    """The shapes of the versions of tools."""

    _known: dict[tuple[str, str], LearnedVersion] = attrs.field(factory=dict, init=False)

    def __iter__(self) -> Iterator[LearnedVersion]:
        return iter(self._known.values())

    def __len__(self) -> int:
        return len(self._known)

    def get(self, tool: str, version: str) -> LearnedVersion | None:
        return self._known.get((tool, version))

    def add(self, tool: str, version: str, shape: Shape, used: int | None = None) -> None:
        """Add what a version of a tool has answered; a tool with a monstrous name is left out."""
        if not _is_name(tool):
            return
        used = int(time.time()) if used is None else used
        known = self._known.get((tool, version))
        if known is None:
            # A copy: the table changes it, and the caller may use it for another one.
            known = self._known[tool, version] = LearnedVersion(tool, version, Shape(), used)
        known.shape.merge(shape)
        known.used = max(known.used, used)
        self._bound(tool)

    def merge(self, other: LearnedTable) -> None:
        """Add all that another table knows."""
        for one in other:
            self.add(one.tool, one.version, one.shape, one.used)

    def forget(self, tool: str) -> int:
        """Drop all versions of a tool, and return their number."""
        found = [key for key in self._known if key[0] == tool]
        for key in found:
            del self._known[key]
        return len(found)

    def _bound(self, tool: str) -> None:
        named = [one for one in self if one.tool == tool]
        if len(named) > _OF_ONE_NAME:
            self._drop(min(named, key=lambda one: one.used))
        if len(self) > _VERSIONS:
            self._drop(min(self, key=lambda one: one.used))

    def _drop(self, one: LearnedVersion) -> None:
        del self._known[one.tool, one.version]

    def dump(self) -> bytes:
        """The stored form; versions for which there is no room are dropped, the oldest first."""
        rows: list[str] = []
        room = MAX_BYTES - 100  # for what is around the rows
        for one in sorted(self, key=lambda one: one.used, reverse=True):
            form = [one.tool, one.version, one.used, one.shape.dump()]
            row = json.dumps(form, separators=(",", ":"))
            room -= len(row) + 1
            if room < 0:
                self._drop(one)
            else:
                rows.append(row)
        return f'{{"form":"{_FORM}","tools":[{",".join(reversed(rows))}]}}'.encode()

    @classmethod
    def load(cls, data: bytes) -> LearnedTable:
        """The table of a stored form, of which nothing is taken unchecked.

        Raises:
            MalformedTypes: The form is another one.
        """
        if len(data) > MAX_BYTES:
            raise MalformedTypes(f"they have more than {MAX_BYTES} bytes")
        try:
            form = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise MalformedTypes("they are not JSON") from error
        if not isinstance(form, dict) or form.get("form") != _FORM:
            raise MalformedTypes("they are of another program, or of another release")
        rows = form.get("tools")
        if not isinstance(rows, list) or len(rows) > _VERSIONS:
            raise MalformedTypes("they are not a list of tools, or too many")
        made = cls()
        for row in rows:
            made._take(row)
        return made

    def _take(self, row: Any) -> None:
        if not isinstance(row, list) or len(row) != 4:
            raise MalformedTypes("a tool has another form")
        tool, version, used, form = row
        is_version = isinstance(version, str) and _VERSION.fullmatch(version)
        if not _is_name(tool) or not is_version or type(used) is not int or used < 0:
            raise MalformedTypes("a tool has no name, version or time")
        try:
            shape = Shape.load(form)
        except MalformedShape as error:
            raise MalformedTypes(str(error)) from error
        self.add(tool, version, shape, used)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _NAME_CHARS and name.isprintable()
