"""The default engine: QuickJS in WebAssembly."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from interpstack import (
    BridgeSet,
    Capability,
    Engine,
    EngineFailure,
    Image,
    ImageError,
    Isolation,
    Limits,
    Realm,
)
from interpstack_javascript.turns.guest_threads import guest_threads
from interpstack_quickjs.heap.base import Base, base_heaps
from interpstack_quickjs.live_guest import LiveGuest
from interpstack_quickjs.realm import QuickJSRealm
from interpstack_quickjs.states import ENGINE, QuickJSState, fresh_state, state_of

__all__ = ["QuickJSEngine"]


class QuickJSEngine(Engine):
    """QuickJS in WebAssembly: the default engine, safe for untrusted code."""

    name: ClassVar[str] = ENGINE
    language: ClassVar[str] = "javascript"
    dialects: ClassVar[tuple[str, ...]] = ("typescript",)
    isolation: ClassVar[Isolation] = Isolation.WASM
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability) - {Capability.KEPT_REALMS}

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        base = base_heaps.get(bridges.sources_for(self.language))
        if image is None:
            return _opened(base, limits, fresh_state(base, bridges, limits), bridges)
        state = state_of(image, base, limits, apart=False)
        try:
            return _opened(base, limits, state, bridges)
        except EngineFailure as error:
            raise ImageError(f"the image cannot be opened: {error}") from error

    async def off_loop(self, function: Callable[[], None]) -> None:
        """Call a function in the threads that run cells: more would wait for Python's lock."""
        await guest_threads.run(id(function), function, lambda: None)


def _opened(base: Base, limits: Limits, state: QuickJSState, bridges: BridgeSet) -> Realm:
    live = LiveGuest(base, limits, state)
    try:
        live.bind(bridges)
    except BaseException:
        live.guest.close()
        raise
    return QuickJSRealm(live, state.cell)
