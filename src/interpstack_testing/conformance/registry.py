"""Finds the test class of an installed engine.

An engine needs nothing of its own where samples of its language are registered: a `GuestSamples`
in the entry-point group `interpstack.samples`, under the language's name. An engine that has gaps
to declare, or samples of its own, registers a subclass of `EngineConformance` in the group
`interpstack.conformance`, under the engine's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from interpstack.contracts.engine import Engine
from interpstack.contracts.errors import ConfigurationError
from interpstack.stack import InterpreterStack
from interpstack_testing.conformance.engine import EngineConformance
from interpstack_testing.fake import FakeEngine
from interpstack_testing.guests import GuestSamples

__all__ = ["GROUP", "SAMPLES", "conformance_of", "registered"]

GROUP: Final = "interpstack.conformance"
#: The entry-point group of samples, by the name of their language.
SAMPLES: Final = "interpstack.samples"


def registered() -> Mapping[str, EntryPoint]:
    """Entry points of test classes, by the name of the engine; none is imported."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def conformance_of(name: str) -> type[EngineConformance]:
    """The test class for the engine that `InterpreterStack(name)` finds, or for `fake`.

    Raises:
        UnknownEngine: There is no such engine.
        ConfigurationError: The engine's language has no samples, or the registered object is not
            such a class.
    """
    entry = registered().get(name)
    if entry is not None:
        return _loaded(entry)
    make = FakeEngine if name == FakeEngine.name else partial(_make, name)
    language = make().language
    samples = next(iter(entry_points(group=SAMPLES, name=language)), None)
    if samples is None:
        raise ConfigurationError(
            f"engine {name!r} runs {language}, of which no samples are registered; its plugin "
            f"registers a Guest in the entry-point group {SAMPLES!r} under the language's name, or "
            f"a subclass of EngineConformance in the group {GROUP!r} under its own"
        )
    body: dict[str, Any] = {"guest": _guest(samples), "make_engine": lambda self: make()}
    return type("InstalledConformance", (EngineConformance,), body)


def _guest(entry: EntryPoint) -> GuestSamples:
    found = entry.load()
    if not isinstance(found, GuestSamples):
        raise ConfigurationError(f"the samples of {entry.name} ({entry.value}) are no Guest")
    return found


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
            f"the tests of engine {entry.name!r} ({entry.value}) are not a subclass of "
            "EngineConformance"
        )
    return found
