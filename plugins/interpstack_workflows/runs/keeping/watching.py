"""Leases of other runners, watched before their runs are taken over.

A lease ends by the clock of the machine that looks at it, which may be ahead. So a run is taken
over only when its lease has also stayed unchanged for its whole time, by a clock that only counts.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import attrs

from interpstack_workflows.stores.store import Lease, TakenRun, WorkflowRecord, WorkflowStore

__all__ = ["LeaseWatch", "is_doubtful"]

#: Runs whose leases are remembered.
_MOST: Final = 10_000


@attrs.define(eq=False)
class LeaseWatch:
    """The leases that other runners were seen to have.

    Attributes:
        seconds: How long a lease of this runner lasts, and of others where the store does not tell.
        clock: Seconds that pass, whatever time it is.
    """

    seconds: float
    clock: Callable[[], float] = time.monotonic
    _seen: OrderedDict[str, tuple[Lease, float]] = attrs.field(factory=OrderedDict, init=False)

    async def take(
        self,
        store: WorkflowStore,
        run_id: str,
        owner: str,
        begin: Callable[[WorkflowRecord], WorkflowRecord],
    ) -> TakenRun:
        """Claim a run, unless another runner works on it, or might; see `WorkflowStore.take`."""
        lapsed = self.lapsed(run_id)
        given = {} if lapsed is None else {"lapsed": lapsed}
        taken = await store.take(run_id, owner, self.seconds, begin, **given)
        self.see(run_id, taken.held)
        return taken

    def see(self, run_id: str, held: Lease | None) -> None:
        """Note the lease of a run as it is now; `None` if it has none."""
        before = self._seen.pop(run_id, None)
        if held is not None:
            unchanged = before is not None and before[0] == held
            self._seen[run_id] = before if unchanged and before else (held, self.clock())
            if len(self._seen) > _MOST:
                self._seen.popitem(last=False)

    def lapsed(self, run_id: str) -> Lease | None:
        """The lease of a run, if its runner could have renewed it meanwhile and did not."""
        held, since = self._seen.get(run_id, (None, 0.0))
        if held is None or self.clock() - since < (held.seconds or self.seconds):
            return None
        return held


def is_doubtful(held: Lease | None, first: Lease | None, now: float) -> bool:
    """Whether the owner of a lease may have stopped, which is not certain yet.

    Args:
        held: The lease as it is.
        first: The lease as it was seen first.
        now: The time by this machine's clock.
    """
    return held is not None and held == first and held.until <= now
