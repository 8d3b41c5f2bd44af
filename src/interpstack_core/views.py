"""Sessions and stacks as plugins see them, whatever class makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from interpstack_core.bridges import BridgeSet
from interpstack_core.engine import Engine
from interpstack_core.languages import GuestLanguage
from interpstack_core.limits import Limits
from interpstack_core.offer import HostOffer

__all__ = ["SessionView", "StackView"]


class StackView(Protocol):
    """A stack: one engine, and plugins in order.

    Attributes:
        limits: The limits of each cell.
        unawaited: `finish` or `cancel`: the treatment of requests that are open when a cell ends.
    """

    limits: Limits
    unawaited: str

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
