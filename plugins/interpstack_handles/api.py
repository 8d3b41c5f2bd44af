"""Public names of the plugin: the part for adapters to pass to it, and storages of handles."""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.resources import files
from typing import Any, Final
from weakref import WeakValueDictionary

import attrs

from interpstack import (
    BridgeRegistry,
    CellContext,
    GuestLanguage,
    GuestSource,
    HostOffer,
    Outcome,
    SessionView,
    StackView,
    Wrapper,
    hookimpl,
)
from interpstack.checks import expect, positive
from interpstack_handles.bridges import KeptResult, handle_bridges, result_bridge
from interpstack_handles.contents import HandleRecord
from interpstack_handles.exchange import OWNER, HandleExchange
from interpstack_handles.storage import (
    BlobHandles,
    HandleLimitExceeded,
    HandleLimits,
    HandleMissing,
    HandleStorage,
    check_room,
    record_from,
    record_to,
)
from interpstack_javascript import JAVASCRIPT
from interpstack_state import BlobStore, MemoryStore, StoreThreads

__all__ = [
    "BlobHandles",
    "HandleLimitExceeded",
    "HandleLimits",
    "HandleMissing",
    "HandleRecord",
    "HandleStorage",
    "Handles",
    "check_room",
    "record_from",
    "record_to",
    "register_source",
    "with_kept_results",
]

_PROMPT: Final = (
    "`{keep}` leaves a large value with the host and returns a handle. `handles.rows(h, 0, 100)`, "
    "`.text(h, 0, 1000)`, `.json(h, 'a.b[0]')` read parts; as an argument, it is the whole value."
)


def _is_store(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    expect(value, (BlobStore, type(None)), "Handles takes a BlobStore, as open_store(url) opens")


def _are_limits(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    expect(value, HandleLimits, "Handles: limits takes HandleLimits, as HandleLimits(handles=10)")


@attrs.frozen(eq=False)
class Handles:
    """Part of a `HostOffer` that lets code keep values with the host; also a plugin, for any stack.

    ```python
    InterpreterStack(plugins=["console", Handles(handle_bytes=100_000)])
    ```

    Attributes:
        store: Stores the handles, by conversation. By default, the memory of this process does, or
            the place where an adapter stores its conversations.
        handle_bytes: Bytes above which the answer of a tool becomes a handle; `None` for never.
        keep_results: Whether the result of a cell that is too long to be shown becomes a handle.
        limits: The limits of each conversation.
        storage: For adapters: the storage of the conversation in which a call is made.

    Raises:
        ConfigurationError: An argument is of a wrong type.
    """

    store: BlobStore | None = attrs.field(default=None, validator=_is_store)
    handle_bytes: int | None = attrs.field(
        default=None, kw_only=True, validator=positive(int, optional=True, of="Handles")
    )
    keep_results: bool = attrs.field(
        default=True, kw_only=True, validator=attrs.validators.instance_of(bool)
    )
    limits: HandleLimits = attrs.field(factory=HandleLimits, kw_only=True, validator=_are_limits)
    storage: Callable[[CellContext], HandleStorage] | None = attrs.field(default=None, kw_only=True)
    _own: BlobStore = attrs.field(init=False)
    _threads: StoreThreads = attrs.field(init=False)
    _exchange: HandleExchange = attrs.field(init=False)
    _locks: WeakValueDictionary[str, threading.RLock] = attrs.field(
        factory=WeakValueDictionary, init=False
    )
    name = "handles"

    @_own.default
    def _own_store(self) -> BlobStore:
        return self.store if isinstance(self.store, BlobStore) else MemoryStore()

    @_threads.default
    def _store_threads(self) -> StoreThreads:
        return StoreThreads(self._own.threads, "interpstack-handles")

    @_exchange.default
    def _made(self) -> HandleExchange:
        storage = self._stored if self.storage is None else self.storage
        return HandleExchange(storage, self.limits, self.handle_bytes)

    def _stored(self, context: CellContext) -> HandleStorage:
        return self.of(context.session_key)

    def of(self, conversation: str) -> BlobHandles:
        """The handles of a conversation in the store; its key is that of the session."""
        lock = self._locks.setdefault(conversation, threading.RLock())
        return BlobHandles(self._own, self._threads, conversation, lock)

    def register(self, register: BridgeRegistry) -> None:
        """Register the functions of code, and the exchange of values."""
        register.exchange(self._exchange)
        for bridge in handle_bridges(self._exchange):
            register.bridge(bridge)
        if self.keep_results:
            register.bridge(result_bridge(self._exchange))

    def prompt(self, language: GuestLanguage) -> str:
        """Return the prompt section."""
        return _PROMPT.format(keep=language.words.waiting.format(call="keep(value, name)"))

    @hookimpl
    def interpstack_register_bridges(
        self, register: BridgeRegistry, stack: StackView, offer: HostOffer
    ) -> None:
        register_source(register, stack.language)
        if offer.part(Handles) is None:  # another plugin registers that one
            self.register(register)

    @hookimpl
    def interpstack_prompt_section(self, stack: StackView, offer: HostOffer) -> str | None:
        return self.prompt(stack.language) if offer.part(Handles) is None else None

    @hookimpl
    def interpstack_wrap_eval(self, session: SessionView) -> Wrapper[Outcome]:
        return with_kept_results

    @hookimpl
    async def interpstack_session_closing(self, session: SessionView) -> None:
        if self.store is None and self.storage is None:
            await self.of(session.key).clear()


def register_source(register: BridgeRegistry, language: GuestLanguage) -> None:
    """Register the guest source of a language, if there is one."""
    source = _SOURCES.get(language.name)
    if source is not None:
        register.source(source)


async def with_kept_results(run: Any) -> Outcome:
    """Run a cell; a notice of its outcome names the handle of a result that is too long."""
    outcome: Outcome = await run()
    kept = [one for one in outcome.attachments if isinstance(one, KeptResult)]
    if not kept:
        return outcome
    others = tuple(one for one in outcome.attachments if not isinstance(one, KeptResult))
    notices = (*outcome.notices, *(one.notice for one in kept))
    return attrs.evolve(outcome, attachments=others, notices=notices)


_SOURCES: Final = {
    JAVASCRIPT.name: GuestSource(
        JAVASCRIPT.name,
        "interpstack:handles",
        files("interpstack_handles").joinpath("handles.js").read_text("utf-8"),
        owner=OWNER,
    )
}
