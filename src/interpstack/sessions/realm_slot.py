"""The realm of one session, the image that it is opened from, and the storage of its state."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import attrs

from interpstack.checks import expect
from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.engine import Engine, Realm
from interpstack.contracts.errors import EngineFailure, ImageError
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Image, SessionState
from interpstack.contracts.views import SessionStorage
from interpstack.sessions import states
from interpstack.sessions.queue import SessionQueue
from interpstack.threads import run_guest, to_end

__all__ = ["RealmSlot", "off_loop"]

_T = TypeVar("_T")


async def off_loop(function: Callable[[], _T]) -> _T:
    """Run a function of a realm or an engine in a guest thread."""
    return await run_guest(function, lambda: None)


@attrs.define(eq=False, kw_only=True, repr=False)
class RealmSlot:
    """Holds the realm of a session. A caller of its methods has locked the session.

    Attributes:
        engine: Makes the realm.
        limits: Returns the limits of the next realm.
        bridges: Returns the bridges that are offered now.
        used: Notes that the session is used.
        notify: Tells the reader of the next outcome that state was lost.
        on_hibernation: Notes that the session hibernated or woke, since when, and the bytes of its
            image.
        realm: The realm; `None` while the session is hibernated, or before its first cell.
        image: The state from which the realm is opened, compressed; `None` for a new one.
        bound: The bridges that the realm is bound to.
        losses: Names of variables without a portable value, of which the reader knows.
        storage: Fetches and saves the state around its uses; `None` leaves it in memory.
    """

    engine: Engine
    limits: Callable[[], Limits]
    bridges: Callable[[], BridgeSet]
    used: Callable[[], None]
    notify: Callable[[str], None]
    on_hibernation: Callable[[bool, float, int], None]
    realm: Realm | None = None
    image: Image | None = None
    bound: BridgeSet | None = None
    losses: frozenset[str] = frozenset()
    storage: SessionStorage | None = None

    def store_with(self, storage: SessionStorage | None) -> None:
        """Leave the state to a storage; called before the first use of the session."""
        self.storage = storage

    def lock(
        self, queue: SessionQueue, *, changes: bool = True
    ) -> AbstractAsyncContextManager[None]:
        """Lock the session, with its current state; see `SessionQueue.lock`."""
        if self.storage is None:
            return queue.lock()
        return self._lock_stored(queue, self.storage, changes)

    @asynccontextmanager
    async def _lock_stored(
        self, queue: SessionQueue, storage: SessionStorage, changes: bool
    ) -> AsyncIterator[None]:
        async with queue.lock():
            await storage.enter(self)
            try:
                yield
            except GeneratorExit:
                raise  # the event loop is closed
            except BaseException:
                await to_end(storage.leave(self, changed=changes))
                raise
            await to_end(storage.leave(self, changed=changes))

    async def ready(self) -> Realm:
        """The realm, opened if need be, and bound to the bridges of now."""
        bridges = self.bridges()
        if self.realm is None:
            self.realm = await self._reopen()
        elif self.bound is not bridges:
            await off_loop(partial(self.realm.bind, bridges))
        self.bound = bridges
        self.used()
        return self.realm

    async def _reopen(self) -> Realm:
        if self.image is None:
            return await self._open()
        began = time.perf_counter()
        try:
            realm = await self._open(states.expanded(self.image))
        except (ImageError, EngineFailure) as error:
            self.notify(f"The state of earlier cells could not be restored: {error}")
            realm = await self._open()
        self.on_hibernation(True, began, len(self.image.data))
        self.image = None
        return realm

    async def _open(
        self, image: Image | None = None, values: Mapping[str, Any] | None = None
    ) -> Realm:
        """Open a realm beside the current one; close it again if it cannot be used.

        Args:
            image: The image to open; `None` for a new realm.
            values: The variables to define; `None` for none.
        """
        engine, limits, bridges = self.engine, self.limits(), self.bridges()
        opened: list[Realm] = []

        def open_realm() -> None:
            opened.append(engine.open(limits, bridges, image))
            if values is not None:
                states.load(opened[0], values)

        try:
            await engine.off_loop(open_realm)
        except BaseException:
            if opened:
                await to_end(engine.off_loop(opened[0].close))
            raise
        return opened[0]

    async def open_in_the_middle(self, image: Image | None) -> Realm | None:
        """Open a realm in the middle of a cell, if a usable image of it is stored."""
        try:
            return None if image is None else await self._open(image)
        except ImageError:
            return None  # of another build: the cell is run again instead

    async def replace(self, realm: Realm) -> None:
        """Continue in another realm, which was opened for that."""
        old, self.realm, self.image, self.bound = self.realm, realm, None, self.bridges()
        self.used()
        if old is not None:
            await self.engine.off_loop(old.close)

    async def restore(self, state: SessionState) -> tuple[str, ...]:
        """Go on from a state taken earlier; see `Session.restore_state`."""
        began, wakes = time.perf_counter(), self.realm is None
        if state.image is not None:
            expect(state.image, Image, "the image of a SessionState is an Image or None")
            try:
                await self.replace(await self._open(states.sound(state.image)))
            except ImageError:
                if state.values is None:
                    raise
            except EngineFailure as error:
                if state.values is None:
                    raise ImageError(f"the image cannot be opened: {error}") from error
            else:
                self.losses = frozenset()
                if wakes:
                    self.on_hibernation(True, began, len(state.image.data))
                return ()
        if state.values is None:
            raise ImageError("nothing of the state was stored")
        await off_loop(partial(states.check_portable, state.values))
        await self.replace(await self._open(values=state.values))
        self.losses = frozenset(states.lost_values(state.values))
        if wakes:
            self.on_hibernation(True, began, 0)
        notice = states.notice_of_values(state.values)
        return (notice,) if notice else ()

    async def take(
        self, wants_values: Callable[[Image], bool] = lambda image: True
    ) -> SessionState:
        """The state in all forms; see `take_state`."""
        taking = partial(states.take_state, await self.ready(), self.engine, wants_values)
        return await off_loop(taking)

    def uncarried(self, state: SessionState) -> str:
        """The notice about data that a state without an image lacks, each named once."""
        if state.image is not None or state.values is None:
            return ""
        lost = states.lost_values(state.values)
        new = {name: why for name, why in lost.items() if name not in self.losses}
        self.losses = frozenset(lost)
        return states.notice_of_data(new)

    async def put_back(self, state: SessionState) -> None:
        """Hold a state again; where it has an image, its realm is opened when it is needed."""
        await self.drop()
        if state.image is not None:
            self.image = states.squeezed(state.image)
        elif state.values is None:
            self.notify("Variables of earlier cells are lost: the engine cannot restore them.")
        else:
            await off_loop(partial((await self.ready()).load, state.values))
            if notice := states.notice_of_values(state.values, only_losses=True):
                self.notify(notice)

    async def hibernate(self) -> None:
        """Turn the realm into its image, if there is one."""
        if (realm := self.realm) is None:
            return

        def leave() -> None:  # in one go: a hop to a thread takes as long as a small image
            self.image, self.realm, self.bound = states.squeezed(realm.image()), None, None
            realm.close()

        await self.engine.off_loop(leave)

    async def sleep(self) -> bool:
        """Hibernate the realm to the storage or to an image in memory; False if there is none."""
        if self.realm is None:
            return False
        began = time.perf_counter()
        try:
            if self.storage is not None:
                await self.storage.sleep(self)
        finally:
            await self.hibernate()
        self.on_hibernation(False, began, 0 if self.image is None else len(self.image.data))
        return True

    async def end(self) -> None:
        """Release the state; only the storage may still have it."""
        try:
            if self.storage is not None:
                await self.storage.sleep(self)
        finally:
            await self.clear()

    async def whole_image(self) -> Image | None:
        """The state, as an engine takes it; `None` if there is none."""
        if self.realm is not None:
            return await off_loop(self.realm.image)
        return None if self.image is None else states.expanded(self.image)

    async def drop(self) -> None:
        """Close the realm; the image stays."""
        realm, self.realm, self.bound = self.realm, None, None
        if realm is not None:
            await self.engine.off_loop(realm.close)

    async def clear(self) -> None:
        """Close the realm, and forget the state."""
        await self.drop()
        self.image, self.losses = None, frozenset()

    def abandon(self) -> None:
        """Let go of a realm that a lost user may still be using."""
        realm, self.realm, self.bound = self.realm, None, None
        if realm is not None:
            self.notify(
                "Variables of earlier cells are lost: the event loop of a cell was closed, or its "
                "process was forked, while it ran."
            )
