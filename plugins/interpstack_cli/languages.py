"""Guest languages, as the command line looks for them: by names that people type, and by files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interpstack import GuestLanguage, InterpreterStack, installed_languages

__all__ = ["language_named", "language_of_file"]


def language_named(name: str, stack: InterpreterStack) -> str:
    """The name of a language that was asked for, perhaps by an alias; any other name as it is."""
    if name in stack.engine.languages():
        return name
    known = _known(stack)
    return next((one.name for one in known if name in (one.name, *one.aliases)), name)


def language_of_file(path: Path, stack: InterpreterStack) -> str | tuple[str, ...]:
    """The name of the language that a file's ending tells; else all endings that are known."""
    seen: list[str] = []
    for language in _known(stack):
        if path.suffix.lower() in language.endings:
            return language.name
        seen += language.endings
    return tuple(dict.fromkeys(seen))


def _known(stack: InterpreterStack) -> Iterator[GuestLanguage]:
    """The languages of the engine, then those of installed plugins, which are loaded one by one."""
    yield from (stack.language, *stack.language.dialects)
    yield from installed_languages()
