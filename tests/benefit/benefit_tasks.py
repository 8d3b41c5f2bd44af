"""The form that both suites give their tasks: what a user asks, the calls that solve it, a world.

A world is one fresh environment of a task. Every way of doing a task gets a world of its own, so
that the worlds can be compared when the work is done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

__all__ = ["Call", "Task", "ToolForm", "Turn", "World", "leaves"]


@attrs.frozen
class Call:
    """One call of a tool, as the ground truth has it."""

    tool: str
    arguments: Mapping[str, Any]


@attrs.frozen
class Turn:
    """One question of the user: its text, the calls that solve it, and the text of the answer."""

    question: str
    calls: Sequence[Call]
    answer: str


@attrs.frozen
class ToolForm:
    """A tool as the model reads it; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


class World(Protocol):
    """One environment of one task."""

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool, and return its result as JSON data."""

    def state(self) -> Any:
        """Return everything that calls may change, in a form that compares by value."""


def _no_check(world: World, calls: Sequence[Call]) -> None:
    """Accept any world: the suite has no check but the comparison of states."""


@attrs.frozen
class Task:
    """One task of a suite.

    Attributes:
        name: Unique in the suite.
        tools: All tools that the suite offers for the task.
        turns: The user's questions, in order.
        new_world: Makes a fresh environment.
        check: The suite's own check of a finished world, given the calls that were made; raises
            `AssertionError` if the task was not solved.
    """

    name: str
    tools: Sequence[ToolForm]
    turns: Sequence[Turn]
    new_world: Callable[[], World]
    check: Callable[[World, Sequence[Call]], None] = _no_check


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """List the values in JSON data that contain no others, with their paths."""
    if isinstance(value, Mapping):
        return [leaf for key, one in value.items() for leaf in leaves(one, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, one in enumerate(value) for leaf in leaves(one, (*path, index))]
    return [(path, value)]
