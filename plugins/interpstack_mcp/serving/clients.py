"""The clients of a server: a session of the interpreter, running cells and kept texts of each."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, Protocol, TypeVar

import attrs
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from interpstack import ConfigurationError, HostOffer, InterpreterStack, Session
from interpstack.checks import positive
from interpstack_mcp.serving.oauth import owner_of
from interpstack_mcp.serving.runs import ServedCell

__all__ = [
    "Beside",
    "Client",
    "Clients",
    "ServerLimits",
    "allows_level",
    "client_key",
    "names_sessions",
]

_COUNT: Final = positive(int, optional=False, of="ServerLimits")
_SECONDS: Final = positive(float, optional=False, of="ServerLimits")
#: Levels of log messages, the least serious first.
_LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)


@attrs.frozen(kw_only=True)
class ServerLimits:
    """Limits of a server's clients.

    Attributes:
        clients: Clients with a session; when there are more, the one idle longest is closed.
        idle_seconds: Time after which the session of an idle client may be closed.
        cells: Cells of one client that may run or wait at once.
        yield_seconds: Time after which `run_code` answers although the code still runs.
        kept_texts: Large results of one client that are kept as resources.
        request_bytes: Bytes of one HTTP request.

    Raises:
        ConfigurationError: A value is not a number above 0.
    """

    clients: int = attrs.field(default=64, validator=_COUNT)
    idle_seconds: float = attrs.field(default=1800.0, validator=_SECONDS)
    cells: int = attrs.field(default=4, validator=_COUNT)
    yield_seconds: float = attrs.field(default=50.0, validator=_SECONDS)
    kept_texts: int = attrs.field(default=16, validator=_COUNT)
    request_bytes: int = attrs.field(default=4 * 2**20, validator=_COUNT)


def client_key(ctx: Any) -> tuple[str, Hashable]:
    """The client of a request, by the session of its transport, and its owner."""
    headers = getattr(ctx.request, "headers", {})
    return str(headers.get("mcp-session-id") or "stdio"), owner_of(ctx.request)


def names_sessions(ctx: Any) -> bool:
    """Whether a client has to name its session, because its protocol has none."""
    return ctx.request is not None and ctx.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS


def allows_level(wanted: str, level: str) -> bool:
    """Whether a client wants log messages of a level."""
    return not wanted or _LEVELS.index(level) >= _LEVELS.index(wanted)


class Beside(Protocol):
    """Something of a client's that ends with it, beside its session."""

    @property
    def busy(self) -> bool:
        """Whether something goes on, so that the client may not be closed."""

    def wants_logs(self, level: str) -> bool:
        """Whether the client wants log messages of a level."""

    async def aclose(self) -> None:
        """Stop everything."""


_Beside = TypeVar("_Beside", bound=Beside)


@attrs.define(eq=False)
class Client:
    """One client.

    Attributes:
        key: Identifies the client.
        owner: The one who began the session, by their token; the same for all without OAuth.
        session: The client's session.
        limits: The server's limits.
        runs: Cells whose outcome the client has not got yet, by id.
        texts: Large results, by URI.
        used: When the client was heard of last.
        level: The least serious level of the log messages that it wants; empty for all.
    """

    key: str
    owner: Hashable
    session: Session
    limits: ServerLimits
    runs: dict[str, ServedCell] = attrs.field(factory=dict)
    texts: OrderedDict[str, tuple[str, str]] = attrs.field(factory=OrderedDict)
    used: float = attrs.field(factory=time.monotonic)
    level: str = ""
    _beside: dict[type, Beside] = attrs.field(factory=dict, init=False)

    @property
    def busy(self) -> bool:
        """Whether the client may not be closed."""
        runs = (not run.done for run in self.runs.values())  # an ended one only waits for `wait`
        return any(runs) or any(one.busy for one in self._beside.values())

    def beside(self, kind: type[_Beside], make: Callable[[], _Beside]) -> _Beside:
        """Something of the client's that ends with it, made when it is first needed."""
        made = self._beside.get(kind)
        if not isinstance(made, kind):
            made = self._beside[kind] = make()
        return made

    def set_level(self, level: str) -> None:
        """Note the least serious level of the log messages that the client wants from now on."""
        self.level = level

    def wants_logs(self, level: str) -> bool:
        """Whether the client wants log messages of a level."""
        beside = self._beside.values()
        return allows_level(self.level, level) and all(one.wants_logs(level) for one in beside)

    def add(self, run: ServedCell) -> None:
        """Take a new cell.

        Raises:
            ConfigurationError: Too many are there.
        """
        if len(self.runs) >= self.limits.cells:
            raise ConfigurationError(
                f"{len(self.runs)} cells of this client run or wait already; get the outcome of "
                f"one with the tool wait: {', '.join(map(repr, self.runs))}"
            )
        self.runs[run.id] = run

    def before(self, run: ServedCell) -> ServedCell | None:
        """The cell that runs before another one; `None` if that one runs itself."""
        first = next((one for one in self.runs.values() if not one.done), run)
        return None if first is run else first

    def drop(self, run: ServedCell) -> None:
        """Forget a cell."""
        self.runs.pop(run.id, None)

    def keep(self, name: str, text: str) -> str:
        """Keep a text as a resource, and return its URI."""
        uri = f"interpstack://results/{secrets.token_urlsafe(12)}/{name}"
        self.texts[uri] = (name, text)
        while len(self.texts) > self.limits.kept_texts:
            self.texts.popitem(last=False)
        return uri

    def touch(self) -> None:
        """Note that the client was heard of."""
        self.used = time.monotonic()

    async def close(self) -> None:
        """Stop the client's cells, and close its session."""
        for run in self.runs.values():
            await run.stop()
        self.runs.clear()
        for one in self._beside.values():
            await one.aclose()
        await self.session.aclose()


@attrs.define(eq=False)
class Clients:
    """All clients of one server.

    Attributes:
        stack: Makes their sessions.
        offer: Bound to each session.
        limits: The server's limits.
    """

    stack: InterpreterStack
    offer: HostOffer
    limits: ServerLimits
    _known: dict[str, Client] = attrs.field(factory=dict, init=False)

    async def client(self, key: str, owner: Hashable, *, new: bool = True) -> Client:
        """The client of a key.

        Args:
            key: The name of the client's session.
            owner: Who asks for it; others than the one who began it do not get it.
            new: Whether one is made if there is none.

        Raises:
            ConfigurationError: There is none, and none is to be made; or too many are busy.
        """
        client = self._known.get(key)
        if client is None and new:
            replaced = self._make_room()
            session = self.stack.session(f"mcp|{key}|{secrets.token_hex(4)}")
            session.bind(self.offer)
            client = self._known[key] = Client(key, owner, session, self.limits)
            for other in replaced:  # which takes a while, and other requests come in between
                await other.close()
        if client is None or client.owner != owner:
            raise ConfigurationError("there is no such session; call again without session")
        client.touch()
        return client

    def is_busy(self, key: str) -> bool:
        """Whether there is a client of a key that may not be closed."""
        return key in self._known and self._known[key].busy

    def _make_room(self) -> list[Client]:
        """Forget clients that are idle, down to the limit; the caller closes them."""
        now, limits = time.monotonic(), self.limits
        if sum(client.busy for client in self._known.values()) >= limits.clients:
            raise ConfigurationError(f"{limits.clients} clients are busy; try again later")
        replaced = []
        for client in list(self._idle()):
            full = len(self._known) >= limits.clients
            if full or now - client.used > limits.idle_seconds:
                replaced.append(self._known.pop(client.key))
        return replaced

    def _idle(self) -> Iterator[Client]:
        """Clients that do nothing, those idle longest first."""
        return (one for one in sorted(self._known.values(), key=lambda c: c.used) if not one.busy)

    def text(self, uri: str, owner: Hashable) -> str | None:
        """A kept text of a client; `None` if there is none."""
        own = (client.texts for client in self._known.values() if client.owner == owner)
        return next((texts[uri][1] for texts in own if uri in texts), None)

    async def aclose(self) -> None:
        """Stop all cells, and close all sessions."""
        known, self._known = self._known, {}
        for client in known.values():
            await client.close()
