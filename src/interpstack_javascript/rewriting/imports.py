"""Import statements: read, and written as calls of the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

import attrs

from interpstack_javascript.rewriting.lexis import BREAK, NAME, SPACE, STRING, behind_space

__all__ = ["StaticImport", "static_import"]

_TOKEN: Final = re.compile(rf"{SPACE.pattern}({STRING.pattern}|{NAME.pattern}|[{{}},*])")
_ATTRIBUTES: Final = re.compile(
    r"(?:with|assert)\s*\{[^{}'\"`/]*(?:(?:'[^'\n]*'|\"[^\"\n]*\")[^{}'\"`/]*)*\}"
)
#: Text and end of a token.
_Part: TypeAlias = tuple[str, int]


@attrs.frozen
class StaticImport:
    """`import a, {b as c} from "x"`.

    Attributes:
        start: The start of the statement in the source.
        end: Behind it and its semicolon.
        module: The module, as a string literal.
        whole: Name for all of the module; empty if there is none.
        members: Exported names, as identifiers or string literals, with their local names.
    """

    start: int
    end: int
    module: str
    whole: str = ""
    members: tuple[tuple[str, str], ...] = ()

    def as_call(self, *, checked: bool) -> str:
        """The same as an awaited call; `checked` fails for names that the module lacks."""
        needed = [_literal(name) for name, _ in self.members] if checked else []
        wanted = f", [{', '.join(needed)}]" if needed else ""
        call = f"await $mport({self.module}{wanted})"
        named = ", ".join(f"{name}: {local}" for name, local in self.members)
        targets = [f"{{{named}}}"] if named else []
        targets += [self.whole] if self.whole else []
        return " ".join(f"var {target} = ({call});" for target in targets) or f"{call};"


def static_import(source: str, start: int) -> StaticImport | None:
    """The import statement that begins at `start`; `None` if it is none, or has an error."""
    try:
        return _read(source, start)
    except (StopIteration, ValueError):
        return None


def _read(source: str, start: int) -> StaticImport:
    parts = _tokens(source, start + len("import"))
    whole, members = "", list[tuple[str, str]]()
    part, end = next(parts)
    if not _is_string(part):
        if _is_name(part):
            members.append(("default", part))
            part, end = next(parts)
            if part == ",":
                part, end = next(parts)
                _expect(part in ("*", "{"))
            else:
                _expect(part == "from")
        if part == "*":
            _expect(next(parts)[0] == "as")
            whole = next(parts)[0]
            _expect(_is_name(whole))
            part, end = next(parts)
        elif part == "{":
            members += _members(parts)
            part, end = next(parts)
        _expect(part == "from")
        part, end = next(parts)
    _expect(_is_string(part))
    return StaticImport(start, _end(source, end), part, whole, tuple(members))


def _members(parts: Iterator[_Part]) -> list[tuple[str, str]]:
    """The text between curly brackets, up to the closing one."""
    members = []
    part = next(parts)[0]
    while part != "}":
        name = local = part
        _expect(_is_name(name) or _is_string(name))
        part = next(parts)[0]
        if part == "as":
            local = next(parts)[0]
            part = next(parts)[0]
        _expect(_is_name(local) and part in (",", "}"))
        members.append((name, local))
        if part == ",":
            part = next(parts)[0]
    return members


def _end(source: str, at: int) -> int:
    """The end of the statement whose module name ends at `at`."""
    following = behind_space(source, at)
    attributes = _ATTRIBUTES.match(source, following)
    if attributes is not None:
        at = attributes.end()
        following = behind_space(source, at)
    if source.startswith(";", following):
        return following + 1
    _expect(following == len(source) or BREAK.search(source, at, following) is not None)
    return at


def _tokens(source: str, at: int) -> Iterator[_Part]:
    while part := _TOKEN.match(source, at):
        at = part.end()
        yield part[1], at


def _is_string(part: str) -> bool:
    return part[0] in "'\""


def _is_name(part: str) -> bool:
    return part[0] not in "'\"{},*"


def _expect(holds: bool) -> None:
    if not holds:
        raise ValueError("it is not an import statement")


def _literal(name: str) -> str:
    return name if _is_string(name) else f'"{name}"'
