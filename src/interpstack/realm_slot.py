"""The realm of one session, or the image that it is opened from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import attrs

from interpstack.bridges import BridgeSet
from interpstack.engine import Engine, Realm
from interpstack.errors import EngineFailure, ImageError
from interpstack.limits import Limits
from interpstack.protocol import Image
from interpstack.states import SessionState, expanded, load, squeezed
from interpstack.threads import run_guest, to_end

__all__ = ["RealmSlot", "off_loop"]

_T = TypeVar("_T")


async def off_loop(function: Callable[[], _T]) -> _T:
    """Run a function of a realm or an engine in a guest thread."""
    return await run_guest(function, lambda: None)


@attrs.define(eq=False)
class RealmSlot:
    """Holds the realm of a session. Whoever calls a method has the session to himself.

    Attributes:
        engine: Makes the realm.
        limits: Returns the limits of the next realm.
        notify: Tells the reader of the next outcome that state was lost.
        realm: The realm; `None` while the session is hibernated, or before its first cell.
        image: The state from which the realm is opened, compressed; `None` for a new one.
        bound: The bridges that the realm is bound to.
    """

    engine: Engine
    limits: Callable[[], Limits]
    notify: Callable[[str], None]
    realm: Realm | None = None
    image: Image | None = None
    bound: BridgeSet | None = None

    async def ready(self, bridges: BridgeSet) -> Realm:
        """The realm, opened if need be, and bound to these bridges."""
        if self.realm is None:
            self.realm = await self._open(bridges)
        elif self.bound is not bridges:
            await off_loop(partial(self.realm.bind, bridges))
        self.bound = bridges
        return self.realm

    async def _open(self, bridges: BridgeSet) -> Realm:
        image = None if self.image is None else expanded(self.image)
        try:
            realm = await self.open(bridges, image)
        except (ImageError, EngineFailure) as error:
            if image is None:
                raise
            self.notify(f"The state of earlier cells could not be restored: {error}")
            realm = await self.open(bridges)
        self.image = None
        return realm

    async def open(
        self,
        bridges: BridgeSet,
        image: Image | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> Realm:
        """Open a realm that is not held; it is closed again if it cannot be used.

        Args:
            bridges: The bridges to bind.
            image: The image to open; `None` for a new realm.
            values: The variables to define; `None` for none.
        """
        engine, limits = self.engine, self.limits()
        opened: list[Realm] = []

        def open_realm() -> None:
            opened.append(engine.open(limits, bridges, image))
            if values is not None:
                load(opened[0], values)

        try:
            await off_loop(open_realm)
        except BaseException:
            if opened:
                await to_end(off_loop(opened[0].close))
            raise
        return opened[0]

    async def open_in_the_middle(self, image: Image | None, bridges: BridgeSet) -> Realm | None:
        """Open a realm in the middle of a cell, if a usable image of it is stored."""
        if image is None:
            return None
        try:
            return await self.open(bridges, image)
        except ImageError:
            return None  # of another build: the cell is run again instead

    async def replace(
        self,
        bridges: BridgeSet,
        image: Image | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Continue in another realm, or in the old one if opening fails. See `open`."""
        realm = await self.open(bridges, image, values)
        old, self.realm, self.image, self.bound = self.realm, realm, None, bridges
        if old is not None:
            await off_loop(old.close)

    async def put_back(self, state: SessionState, bridges: BridgeSet) -> None:
        """Hold a state again; where it has an image, its realm is opened when it is needed."""
        await self.drop()
        if state == SessionState():
            self.notify("Variables of earlier cells are lost: the engine cannot restore them.")
        if state.image is not None:
            self.image = squeezed(state.image)
        elif state.values is not None:
            realm = await self.ready(bridges)
            await off_loop(partial(realm.load, state.values))

    async def hibernate(self) -> None:
        """Turn the realm into its image."""
        realm = self.realm
        if realm is not None:
            self.image = await off_loop(lambda: squeezed(realm.image()))
            await self.drop()

    async def whole_image(self) -> Image | None:
        """The state, as an engine takes it; `None` if there is none."""
        if self.realm is not None:
            return await off_loop(self.realm.image)
        return None if self.image is None else expanded(self.image)

    async def drop(self) -> None:
        """Close the realm; the image stays."""
        realm, self.realm, self.bound = self.realm, None, None
        if realm is not None:
            await off_loop(realm.close)

    async def clear(self) -> None:
        """Close the realm, and forget the state."""
        await self.drop()
        self.image = None

    def abandon(self) -> bool:
        """Let go of a realm that may still be in use; False if there is none."""
        realm, self.realm, self.bound = self.realm, None, None
        return realm is not None
