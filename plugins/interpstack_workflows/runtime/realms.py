"""Realms for workflow modules: opened with the guard in place where the engine has images."""

from __future__ import annotations

import threading
import time
from typing import Final

from interpstack import Capability, Cell, Engine, EngineFailure, Image, Limits, Realm
from interpstack_workflows.runtime.sources import CELL_NAME, GUARD_CELL, bridge_set

__all__ = ["GuardedRealms"]

#: The one set of bridges: engines keep what they make of a set.
_BRIDGES: Final = bridge_set()
#: Seconds that the guard may take.
_SECONDS: Final = 5.0


class GuardedRealms:
    """Opens realms, each for one module.

    The guard freezes everything that scripts share, which takes most of the time of an opening. So
    an image of a guarded realm is cached, and opened for each module. An engine without images runs
    the guard when the module starts.

    Args:
        engine: The engine. May be used by several threads at once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._limits: Limits | None = None
        self._image: Image | None = None

    def open(self, memory_bytes: int | None) -> tuple[Realm, Limits]:
        """Open a realm; also returns its limits.

        Raises:
            EngineFailure: The engine broke.
        """
        limits = Limits(
            cpu_seconds=None,
            wall_seconds=None,
            memory_bytes=memory_bytes,
            requests=None,  # the verbs count them
        )
        image = self._image_for(limits) if Capability.IMAGES in self._engine.capabilities else None
        return self._opened(limits, image), limits

    def _image_for(self, limits: Limits) -> Image:
        """Return the image of a guarded realm with these limits; the latest image is cached."""
        with self._lock:
            if self._image is None or self._limits != limits:
                self._image, self._limits = self._guarded(limits), limits
            return self._image

    def _guarded(self, limits: Limits) -> Image:
        realm = self._opened(limits)
        try:
            cell = realm.start(Cell(source=GUARD_CELL, name=CELL_NAME))
            progress = cell.poll(time.time(), _SECONDS)
            if progress.completion is None or progress.completion.error is not None:
                raise EngineFailure(f"the realm of a workflow cannot be guarded: {progress!r:.300}")
            return realm.image()
        finally:
            realm.close()

    def _opened(self, limits: Limits, image: Image | None = None) -> Realm:
        realm = self._engine.open(limits, _BRIDGES, image)
        try:
            realm.bind(_BRIDGES)
        except BaseException:
            realm.close()
            raise
        return realm
