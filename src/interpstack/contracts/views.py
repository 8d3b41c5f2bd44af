"""Sessions, their states and stacks as plugins see them, and storages of states."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.engine import Engine
from interpstack.contracts.languages import GuestLanguage
from interpstack.contracts.limits import Limits
from interpstack.contracts.offer import HostOffer
from interpstack.contracts.protocol import Image, SessionState

__all__ = ["SessionStorage", "SessionView", "StackView", "StateSlot"]


class StackView(Protocol):
    """A stack: one engine, and plugins in order.

    Attributes:
        limits: The limits of each cell.
        unawaited: `finish` or `cancel`: the treatment of requests that are open when a cell ends.
        unhandled: `tell`, `raise` or `ignore`: the treatment of failures that code does not handle.
        check: `names`, `types` or `off`: what is checked before anything of a cell runs.
    """

    limits: Limits
    unawaited: str
    unhandled: str
    check: str

    @property
    def engine(self) -> Engine:
        """The engine."""

    @property
    def language(self) -> GuestLanguage:
        """The guest language of the engine."""

    @property
    def hook(self) -> Any:
        """Calls the hooks of the stack's plugins."""

    def each(self, hook: str) -> Sequence[tuple[str, Callable[..., list[Any]]]]:
        """For each plugin that implements a hook, in order, its name and a caller of the hook."""

    def bridge_set(self, offer: HostOffer) -> BridgeSet:
        """All bridges of an offer."""

    def prompt(self, offer: HostOffer | None = None) -> str:
        """The plugins' sections for the system prompt."""


class SessionView(Protocol):
    """A session: one conversation's interpreter.

    Attributes:
        key: The session's key.
        host: The object that the caller of the running cell passed; `None` between cells.
        cells: Cells run so far in this process.
    """

    key: str
    host: Any
    cells: int

    @property
    def stack(self) -> StackView:
        """The stack that made the session."""

    @property
    def language(self) -> GuestLanguage:
        """The guest language of the engine."""

    @property
    def offer(self) -> HostOffer:
        """The host's current tools and parts."""

    def notify(self, text: str) -> None:
        """Add a notice to the next outcome."""


class StateSlot(Protocol):
    """The state of a session in memory, for its storage."""

    async def take(self, wants_values: Callable[[Image], bool] = ...) -> SessionState:
        """The state; with values beside such an image, by default always."""

    async def restore(self, state: SessionState) -> tuple[str, ...]:
        """Replace the state; return notices of variables that it lacks."""

    async def clear(self) -> None:
        """Forget the state."""


class SessionStorage(abc.ABC):
    """Stores the state of a session, which no other code uses while one of its methods runs."""

    @abc.abstractmethod
    async def enter(self, slot: StateSlot) -> None:
        """Load the current state into the slot, before each use. An exception refuses the use."""

    @abc.abstractmethod
    async def leave(self, slot: StateSlot, *, changed: bool) -> None:
        """End a use, cancelled or not, that may have `changed` the state; never raises."""

    @abc.abstractmethod
    async def sleep(self, slot: StateSlot) -> None:
        """Save the state, then clear the slot: the session hibernates, or is closed."""
