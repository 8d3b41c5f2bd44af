"""The state of a realm between two turns of a worker, and the way into a worker and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
import pydantic_monty

from interpstack import BridgeSet, EngineFailure, ImageError, Limits
from interpstack_monty.crossing.errors import is_memory_limit
from interpstack_monty.crossing.export_values import export, globals_in, lost, why
from interpstack_monty.images import Saved
from interpstack_monty.offer import offered, roots
from interpstack_monty.workers import (
    EMIT,
    TRUSTED_SECONDS,
    KernelReplaced,
    MontyWorker,
    Workers,
    kernel_source,
)

__all__ = ["FAILURES", "MontyState", "unopened"]

#: Seconds for the export of values, whose size is bounded, on a busy machine.
_EXPORT_SECONDS: Final = 15.0
#: Bytes of a state that are opened in a second, on a busy machine.
_OPENED_BYTES: Final = 2**20
#: Exceptions of Monty's client and of a replaced kernel.
FAILURES: Final = (pydantic_monty.MontyError, KernelReplaced)


@attrs.define(eq=False)
class MontyState:
    """A realm's state: bytes, which are brought into a worker only for a turn.

    Attributes:
        workers: Worker processes of the engine.
        limits: Limits of a cell.
        bridges: Bridges that are offered.
        saved: The state.
        type_check: Whether cells that call a bridge wrongly are refused.
    """

    workers: Workers
    limits: Limits
    bridges: BridgeSet
    saved: Saved
    type_check: bool

    def bind(self, bridges: BridgeSet) -> None:
        """Offer other bridges."""
        self.bridges = bridges

    def go_to(self, saved: Saved) -> None:
        """Take up another state."""
        self.saved = saved

    def names(self) -> Sequence[str]:
        """Names of all variables: kept, lost, and those of the guest's own globals."""
        saved = self.saved
        return tuple(dict.fromkeys([*saved.kept, *saved.lost, *saved.names]))

    def open_worker(self) -> MontyWorker:
        """A worker with the state in it, and the bridges bound.

        Raises:
            EngineFailure: The state cannot be brought into a worker.
        """
        worker = self.workers.take(self.limits)
        try:
            dump = self.saved.opened()
            seconds = TRUSTED_SECONDS + len(dump) / _OPENED_BYTES
            with worker.watched(seconds) as session:
                if dump:
                    session.load_session(dump)
                else:
                    worker.run(kernel_source(), external_lookup={EMIT: _never})
                binding = offered(self.bridges, self.limits.value_bytes)
                if binding != self.saved.bound:
                    worker.run(binding)
                worker.bind(binding)
        except (*FAILURES, ImageError) as error:
            worker.release()
            raise unopened("the guest's state", error, self.limits) from error
        except BaseException:
            worker.release()
            raise
        return worker

    def check_room(self) -> None:
        """Refuse the state of an image that was made with more memory, and does not fit now.

        Raises:
            ImageError: It does not; the message says what to do.
        """
        made_with, allowed = self.saved.made_with, self.limits.memory_bytes
        if allowed is None or (made_with is not None and made_with <= allowed):
            return
        try:
            self.open_worker().release()
        except EngineFailure as error:
            raise ImageError(str(error)) from error

    def commit(self, worker: MontyWorker) -> Sequence[str]:
        """Store the state of a worker as the state of the realm; call this method inside `watched`.

        Returns:
            Names of bridges that the cell gave another value; they are bound anew before the
            next cell.

        Raises:
            MontyError: The state cannot be dumped; the one from before stays.
            KernelReplaced: Its names cannot be read; likewise.
        """
        bound = roots(worker.bound)
        hidden = self.saved.roots | bound
        found = globals_in(worker, hidden, bound)
        dump = worker.session.dump()
        own = frozenset(found.own)
        self.saved = self.saved.after(
            dump,
            names=found.own,
            lost={name: why for name, why in self.saved.lost.items() if name not in own},
            bound="" if found.taken else worker.bound,
            roots=hidden,
        )
        return found.taken

    def exported(self, names: Sequence[str]) -> Mapping[str, Any]:
        """The values of globals as wire trees."""
        worker = self.open_worker()
        try:
            with worker.watched(_EXPORT_SECONDS):
                return export(worker, names)
        except FAILURES as error:
            reason = f"it could not be read: {why(error)}"
            return {name: lost(reason) for name in names}
        finally:
            worker.release()


def unopened(what: str, error: Exception, limits: Limits) -> EngineFailure:
    """The error for a state that cannot be brought into a worker."""
    if is_memory_limit(error):
        return EngineFailure(
            f"{what} takes more memory than memory_bytes={limits.memory_bytes} allows; open it "
            "with a larger memory_bytes"
        )
    return EngineFailure(f"{what} cannot be opened: {error}")


def _never(*values: Any) -> None:
    raise RuntimeError("no cell is running")
