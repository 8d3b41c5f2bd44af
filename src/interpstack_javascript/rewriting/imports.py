"""Import statements: read, and written as calls of the kernel."""

from __future__ import annotations

import re
from typing import Final

import attrs

from interpstack_javascript.rewriting.lexis import BREAK, NAME, SPACE, STRING, behind_space

__all__ = ["StaticImport", "static_import"]

_SPACE: Final = SPACE.pattern
_NAME: Final = rf"((?>{NAME.pattern})){_SPACE}"
_STRING: Final = rf"((?>{STRING.pattern})){_SPACE}"
_AS: Final = rf"as(?![\w$\\]){_SPACE}{_NAME}"
_FROM: Final = rf"from(?![\w$\\]){_SPACE}((?>{STRING.pattern}))"
#: A statement without names, one with a name for the default, or one with more up to a bracket.
_STATEMENT: Final = re.compile(
    rf"import{_SPACE}(?:((?>{STRING.pattern}))|{_NAME}{_FROM}"
    rf"|(?:{_NAME},{_SPACE})?+(?:\*{_SPACE}{_AS}{_FROM}|{{{_SPACE}))"
)
#: An exported name, the local one, and what follows them; a string needs a local name.
_MEMBER: Final = re.compile(rf"(?:{_NAME}(?:{_AS})?+|{_STRING}{_AS})(?:,{_SPACE}|(?=}}))")
_END_OF_MEMBERS: Final = re.compile(rf"}}{_SPACE}{_FROM}")
_ATTRIBUTES: Final = re.compile(
    r"(?:with|assert)\s*\{[^{}'\"`/]*(?:(?:'[^'\n]*'|\"[^\"\n]*\")[^{}'\"`/]*)*\}"
)


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
    found = _STATEMENT.match(source, start)
    if found is None:
        return None
    bare, name, of_name, first, whole, of_whole = found.groups()
    name, module, at = name or first, bare or of_name or of_whole, found.end()
    members = [("default", name)] if name else []
    if module is None:
        while member := _MEMBER.match(source, at):
            exported, local, text, local_of_text = member.groups()
            members.append((exported or text, local or local_of_text or exported))
            at = member.end()
        found = _END_OF_MEMBERS.match(source, at)
        if found is None:
            return None
        module, at = found[1], found.end()
    end = _end(source, at)
    return None if end is None else StaticImport(start, end, module, whole or "", tuple(members))


def _end(source: str, at: int) -> int | None:
    """The end of the statement whose module name ends at `at`."""
    following = behind_space(source, at)
    attributes = _ATTRIBUTES.match(source, following)
    if attributes is not None:
        at = attributes.end()
        following = behind_space(source, at)
    if source.startswith(";", following):
        return following + 1
    ends = following == len(source) or BREAK.search(source, at, following) is not None
    return at if ends else None


def _literal(name: str) -> str:
    return name if name[0] in "'\"" else f'"{name}"'
