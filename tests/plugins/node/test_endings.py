"""Ends of cells that cost their kernel."""

from __future__ import annotations

import pytest

from interpstack import GuestError, Limits, Notification, Progress
from interpstack_node.endings import UNDONE, lost, remains, undone
from interpstack_node.kernels.conversation import KernelAnswer
from interpstack_node.kernels.process import KernelDied

_LIMITS = Limits(memory_bytes=64 * 2**20)


def _answer(*, stopped: bool = False, memory_bytes: int = 0) -> KernelAnswer:
    return KernelAnswer(
        drained=(),
        values=None,
        stopped=stopped,
        cpu_seconds=0.0,
        memory_bytes=memory_bytes,
        signals_seen=0,
    )


@pytest.mark.parametrize(
    ("death", "error"),
    [
        (KernelDied("it is gone"), GuestError("EngineFailure", f"it is gone; {UNDONE}")),
        (KernelDied("it is slow", slow=True), GuestError("Timeout", f"it is slow; {UNDONE}")),
        (
            KernelDied("", memory=True),
            GuestError("OutOfMemory", f"the guest used up its memory limit of 64 MiB; {UNDONE}"),
        ),
    ],
)
def test_a_lost_kernel_leaves_the_output_that_had_arrived(
    death: KernelDied, error: GuestError
) -> None:
    progress = lost(death, _LIMITS, "a\nb")
    assert (progress.failure, progress.state) == (error, "undone")
    assert list(progress.notifications) == [Notification("console", {"text": "a\nb", "omitted": 0})]
    assert not lost(death, _LIMITS, "").notifications


def test_what_other_cells_cannot_live_with_is_named() -> None:
    assert remains(_answer(memory_bytes=65 * 2**20), _LIMITS, importing=0) == ""
    assert "endless work" in remains(_answer(stopped=True), _LIMITS, importing=0)
    assert "more in memory" in remains(_answer(memory_bytes=81 * 2**20), _LIMITS, importing=0)
    assert remains(_answer(memory_bytes=2**40), Limits(memory_bytes=None), importing=0) == ""
    assert "half loaded" in remains(_answer(), _LIMITS, importing=1)


def test_a_cell_that_is_undone_says_why() -> None:
    progress = undone(Progress(cpu_seconds=1.0), "because")
    assert progress.failure == GuestError("EngineFailure", f"{UNDONE}: because")
    assert (progress.state, progress.cpu_seconds) == ("undone", 1.0)
