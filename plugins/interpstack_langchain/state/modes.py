"""Modes: how long variables live, with or without a plugin that stores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from interpstack import ConfigurationError, InterpreterStack, SessionState
from interpstack_agents import Persistence, persistence_mode, persistence_modes

__all__ = ["mode_of"]


class _EachCall(Persistence):
    """The mode `call` of a stack without a plugin for persistence: nothing is ever stored.

    It is not the `CallMode` of the plugin `persistence`, which the adapter does not depend on.
    """

    name: ClassVar[str] = "call"
    scope: ClassVar[str] = "call"

    def dump(
        self,
        state: SessionState,
        owner: str,
        sequence: int,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[Mapping[str, Any], str]:
        raise NotImplementedError("the mode 'call' stores nothing")

    def load(
        self, record: Mapping[str, Any], owner: str, earlier: Sequence[Mapping[str, Any]] = ()
    ) -> SessionState:
        raise NotImplementedError("the mode 'call' stores nothing")


def mode_of(stack: InterpreterStack, name: str) -> type[Persistence]:
    """The persistence mode of a name.

    Raises:
        ConfigurationError: No plugin of the stack offers it.
    """
    if persistence_modes(stack):
        return persistence_mode(stack, name)
    if name == "call":
        return _EachCall
    raise ConfigurationError(
        f"no plugin of the stack offers the mode {name!r}: pass mode='call', with which each eval "
        "starts anew, or add the plugin 'persistence'"
    )
