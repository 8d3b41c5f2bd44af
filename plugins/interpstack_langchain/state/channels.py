"""Names of an interpreter's channels in the graph's state: several may live in one agent."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, TypedDict

import attrs

from interpstack_langchain.background.cell_records import CELLS
from interpstack_langchain.state.graph_state import (
    HANDLES,
    PEERS,
    HandlesState,
    InterpreterState,
)

__all__ = ["Channels"]

#: The interpreter of this tool name has channels without a suffix.
_FIRST: Final = "eval"
#: What `view` adds: the records of the interpreter of that name.
_FIRSTS: Final = "interpreter_record of eval"
_NAMES: Final = (
    "interpreter_turn", "interpreter_record", "interpreter_shared", "interpreter_drawn", CELLS,
    HANDLES,
)  # fmt: skip


@attrs.frozen
class Channels:
    """The channels of the interpreter with one tool name.

    All other code uses the names without a suffix: values that are read pass `view` or `known`,
    values that are written pass `named`.

    Attributes:
        suffix: The suffix of the channels' names; empty for the tool name `eval`.
        handles: Whether the graph has the channel of handles.
    """

    suffix: str
    handles: bool = False

    @classmethod
    def of(cls, tool_name: str, *, handles: bool = False) -> Channels:
        return cls("" if tool_name == _FIRST else f"_{tool_name}", handles)

    @property
    def schema(self) -> Any:
        """The part of a graph's state that has them, as a middleware declares it."""
        own = HandlesState if self.handles else InterpreterState
        return _schema(own, self.suffix) if self.suffix else own

    def own(self, name: str) -> str:
        """The name in the graph of the channel with this plain name."""
        return name + self.suffix if name in _NAMES else name

    def view(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """A graph's state with these channels under their plain names."""
        if not self.suffix:
            return state
        own = {name: state[name + self.suffix] for name in _NAMES if name + self.suffix in state}
        rest = {name: value for name, value in state.items() if name not in _NAMES}
        return {**rest, **own, _FIRSTS: state.get("interpreter_record")}

    def foreign(self, state: Mapping[str, Any], tools: Iterable[str]) -> bool:
        """Whether a state has variables that another interpreter has stored.

        Args:
            state: As `view` gives it.
            tools: Names of the agent's tools: an interpreter that is still there keeps its own.
        """
        return bool(state.get(PEERS) or (state.get(_FIRSTS) and _FIRST not in tools))

    def known(self, writes: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Writes to a graph's channels, without those of other interpreters."""
        own = {name + self.suffix: name for name in _NAMES}
        return [
            (own.get(name, name), value)
            for name, value in writes
            if name in own or name not in _NAMES
        ]

    def named(self, update: Mapping[str, Any]) -> dict[str, Any]:
        """An update of the plain names, converted for the graph."""
        return {self.own(name): value for name, value in update.items()}


@cache
def _schema(own: Any, suffix: str) -> Any:
    hints = typing.get_type_hints(own, include_extras=True)
    fields = {name + suffix if name in _NAMES else name: hint for name, hint in hints.items()}
    # Those of the first name stay to be read: an interpreter may have been renamed.
    return TypedDict(f"InterpreterState{suffix}", {**hints, **fields})  # type: ignore[operator]
