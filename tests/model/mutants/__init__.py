"""Planted faults: defects of the kinds that durable runs must not have, one at a time.

The simulator must find each of them, or it checks less than it seems to. A fault is a list of
replacements of functions and methods of the product, made while a search for it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs

__all__ = ["MUTANTS", "Mutant", "mutant", "planted"]

#: An object, the name of its attribute, and the value to plant there.
Patch = tuple[Any, str, Any]


@attrs.frozen
class Mutant:
    """A planted fault.

    Attributes:
        name: The name.
        sentence: What is wrong.
        world: The world in which the simulator looks for it.
        patches: Makes the replacements.
        breaks: The invariants that it may break.
    """

    name: str
    sentence: str
    world: str
    patches: Callable[[], Sequence[Patch]]
    breaks: Sequence[str]


_known: dict[str, Mutant] = {}
MUTANTS: Final[Mapping[str, Mutant]] = _known


def mutant(
    *breaks: str, world: str = "evals"
) -> Callable[[Callable[[], Sequence[Patch]]], Callable[[], Sequence[Patch]]]:
    """Register a function as a planted fault; its docstring says what is wrong."""

    def register(patches: Callable[[], Sequence[Patch]]) -> Callable[[], Sequence[Patch]]:
        name = patches.__name__.replace("_", "-")
        _known[name] = Mutant(name, str(patches.__doc__), world, patches, breaks)
        return patches

    return register


@contextmanager
def planted(fault: Mutant) -> Iterator[None]:
    """Plant a fault for the block."""
    patches = fault.patches()
    before = [(where, name, vars(where)[name]) for where, name, _ in patches]
    for where, name, value in patches:
        setattr(where, name, value)
    try:
        yield
    finally:
        for where, name, value in before:
            setattr(where, name, value)


from tests.model.mutants import agents, runs  # noqa: E402, F401 - they register their faults
