"""Finds the test class of an installed engine.

Engines of a language with ready-made samples need nothing. Others register a subclass of
`EngineConformance` in the entry-point group `interpstack.conformance`, under the engine's name;
so does an engine that has gaps to declare.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from interpstack.engine import Engine
from interpstack.errors import ConfigurationError
from interpstack.stack import InterpreterStack
from interpstack_testing.conformance.engine import EngineConformance
from interpstack_testing.fake import FakeEngine
from interpstack_testing.guests import JAVASCRIPT, PYTHON, Guest

__all__ = ["GROUP", "conformance_of", "registered"]

GROUP: Final = "interpstack.conformance"
_GUESTS: Final[Mapping[str, Guest]] = {guest.language: guest for guest in (JAVASCRIPT, PYTHON)}


def registered() -> Mapping[str, EntryPoint]:
    """Entry points of test classes, by the name of the engine; none is imported."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def conformance_of(name: str) -> type[EngineConformance]:
    """The test class for the engine that `InterpreterStack(name)` finds, or for `fake`.

    Raises:
        UnknownEngine: There is none.
        ConfigurationError: Nothing is known of its language, or what is registered is no such
            class.
    """
    entry = registered().get(name)
    if entry is not None:
        return _loaded(entry)
    make = FakeEngine if name == FakeEngine.name else partial(_make, name)
    language = make().language
    if language not in _GUESTS:
        raise ConfigurationError(
            f"engine {name!r} runs {language}, of which the kit has no samples; its plugin "
            f"registers a subclass of EngineConformance in the entry-point group {GROUP!r}"
        )
    body: dict[str, Any] = {"guest": _GUESTS[language], "make_engine": lambda self: make()}
    return type("InstalledConformance", (EngineConformance,), body)


def _make(name: str) -> Engine:
    return InterpreterStack(name).engine


def _loaded(entry: EntryPoint) -> type[EngineConformance]:
    try:
        found = entry.load()
    except Exception as error:
        raise ConfigurationError(
            f"the tests of engine {entry.name!r} ({entry.value}) cannot be loaded: {error}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, EngineConformance)):
        raise ConfigurationError(
            f"the tests of engine {entry.name!r} ({entry.value}) are no subclass of "
            "EngineConformance"
        )
    return found
