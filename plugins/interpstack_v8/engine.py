"""The engine."""

from __future__ import annotations

from typing import ClassVar

from interpstack import (
    BridgeSet,
    Capability,
    Engine,
    Image,
    ImageError,
    Isolation,
    Limits,
    Realm,
)
from interpstack_v8.realm import V8Realm

__all__ = ["V8Engine"]


class V8Engine(Engine):
    """V8 in the host's process: fast, and only as safe as V8 itself."""

    name: ClassVar[str] = "v8"
    language: ClassVar[str] = "javascript"
    isolation: ClassVar[Isolation] = Isolation.ISOLATE
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.CPU_LIMIT,
            Capability.MEMORY_LIMIT,
            Capability.VALUES,
            Capability.MODULES,
            Capability.TYPESCRIPT,
            Capability.DETERMINISM,
        }
    )

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        if image is not None:
            raise ImageError("engine 'v8' has no images; load the state's portable values")
        return V8Realm(limits, bridges)
