"""The engine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from interpstack import (
    BridgeSet,
    Capability,
    ConfigurationError,
    Engine,
    Image,
    Isolation,
    Limits,
    Realm,
)
from interpstack_javascript.kept_realms.kept_realms import KeptRealms

try:
    from interpstack_v8.awake_realms import MAX_AWAKE
    from interpstack_v8.isolates.abandoned import abandoned
    from interpstack_v8.realm import V8Realm
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"interpstack_v8 needs {error.name}; install the extra with: "
        "pip install 'interpstack[v8-engine]'",
        name=error.name,
    ) from error

__all__ = ["V8Engine"]


class V8Engine(Engine):
    """V8 in the host's process: fast, and only as safe as V8 itself.

    `Limits.memory_bytes` bounds V8's heap and array buffers. Nothing bounds what V8 allocates to
    compile code and regular expressions; in `process:v8`, `worker_memory_bytes` bounds that, too.

    Args:
        give_up_seconds: Seconds that a built-in which V8 cannot interrupt may continue after the
            guest's time limit. After that, its heap is abandoned, and its thread computes until the
            built-in has ended. `None` to wait for it, where the whole process is ended instead.

    Raises:
        ConfigurationError: It is not a number above 0, nor `None`.
    """

    name: ClassVar[str] = "v8"
    language: ClassVar[str] = "javascript"
    dialects: ClassVar[tuple[str, ...]] = ("typescript",)
    isolation: ClassVar[Isolation] = Isolation.ISOLATE
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.CPU_LIMIT,
            Capability.MEMORY_LIMIT,
            Capability.VALUES,
            Capability.MODULES,
            Capability.DETERMINISM,
            Capability.KEPT_REALMS,
        }
    )

    worker_options: ClassVar[Mapping[str, Any]] = MappingProxyType({"give_up_seconds": None})
    #: V8 reserves some 180 MB for each realm.
    reserves_memory: ClassVar[bool] = True

    def __init__(self, *, give_up_seconds: float | None = 2.0) -> None:
        if give_up_seconds is not None and not (
            isinstance(give_up_seconds, int | float)
            and not isinstance(give_up_seconds, bool)
            and give_up_seconds > 0
        ):
            raise ConfigurationError(
                f"v8: give_up_seconds takes a number above 0, or None; got {give_up_seconds!r}"
            )
        self._give_up_seconds = give_up_seconds
        self._kept: KeptRealms[V8Realm] = KeptRealms(self.name, MAX_AWAKE)

    @property
    def abandoned(self) -> int:
        """Abandoned threads of this process that still compute, because V8 could not be stopped."""
        return abandoned()

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        if image is None:
            return V8Realm(limits, bridges, self._kept, self._give_up_seconds)
        realm = self._kept.take(image)
        realm.go_on(bridges)
        return realm

    def close(self) -> None:
        self._kept.close()
