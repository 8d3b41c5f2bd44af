"""Guest languages, as the command line looks for them: by names that people type, and by files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interpstack import GuestLanguage, InterpreterStack, installed_languages

__all__ = ["language_named", "language_of_file"]


def language_named(name: str, stack: InterpreterStack) -> str:
    """The name of the language with this name or alias, also in capitals.

    An unknown name is returned unchanged.
    """
    if name in stack.engine.languages():
        return name
    same, known = {name, name.lower()}, _known(stack)
    return next((one.name for one in known if same & {one.name, *one.aliases}), name)


def language_of_file(path: Path, stack: InterpreterStack) -> str | tuple[str, ...]:
    """The name of the language of a file; all known endings if none of them matches the file."""
    seen: list[str] = []
    for language in _known(stack):
        if path.suffix.lower() in language.endings:
            return language.name
        seen += language.endings
    return tuple(dict.fromkeys(seen))


def _known(stack: InterpreterStack) -> Iterator[GuestLanguage]:
    """The languages of the engine, then of installed plugins, each loaded when its turn comes."""
    yield from (stack.language, *stack.language.dialects)
    yield from installed_languages()
