"""The engine: Python cells, run by Monty in worker processes."""

from __future__ import annotations

from typing import ClassVar

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

try:
    from interpstack_monty.images import ENGINE, Saved, unpack
    from interpstack_monty.realm import MontyRealm
    from interpstack_monty.state import MontyState
    from interpstack_monty.workers import Workers
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"interpstack_monty needs {error.name}; install the extra with: "
        "pip install 'interpstack[monty]'",
        name=error.name,
    ) from error

__all__ = ["MontyEngine"]


class MontyEngine(Engine):
    """Python cells in processes of their own, run by Monty.

    Args:
        type_check: Refuse cells that call a bridge in a way that cannot be right, before
            anything of them has run.
        cells_per_process: Cells after which a worker process is replaced by a new one; `None`
            for never. With 1, no two cells share a process.

    Raises:
        ConfigurationError: An option is of the wrong type.
    """

    name: ClassVar[str] = ENGINE
    language: ClassVar[str] = "python"
    isolation: ClassVar[Isolation] = Isolation.PROCESS
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.CPU_LIMIT,
            Capability.MEMORY_LIMIT,
            Capability.IMAGES,
            Capability.SUSPENSION,
            Capability.VALUES,
            Capability.DETERMINISM,
            Capability.UNDO,
        }
    )

    def __init__(self, *, type_check: bool = True, cells_per_process: int | None = None) -> None:
        if not isinstance(type_check, bool):
            raise ConfigurationError(f"monty: type_check takes True or False; got {type_check!r}")
        if cells_per_process is not None and (
            type(cells_per_process) is not int or cells_per_process < 1
        ):
            raise ConfigurationError(
                "monty: cells_per_process takes a whole number above 0, or None; "
                f"got {cells_per_process!r}"
            )
        self.type_check = type_check
        self.workers = Workers(cells_per_process)

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        opened = (Saved(), {}, b"") if image is None else unpack(image, self.name, limits)
        saved, suspended, snapshot = opened
        state = MontyState(self.workers, limits, bridges, saved, type_check=self.type_check)
        if image is not None:
            state.check_room()
        return MontyRealm(state, suspended, snapshot)

    def close(self) -> None:
        self.workers.close()
