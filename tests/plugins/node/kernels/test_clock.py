"""The time limit of a command."""

from __future__ import annotations

from types import SimpleNamespace

import attrs
import pytest

from interpstack_javascript.exported import EXPORT_SECONDS
from interpstack_node.kernels import clock
from interpstack_node.kernels.clock import CommandClock
from interpstack_node.kernels.stops import Stop, Stops


class Ended(Exception):
    """The kernel was ended."""


@attrs.define
class Kernel:
    """A kernel that computes as the test says."""

    cpu_seconds: float = 10.0
    grace_seconds: float = 2.0
    stops: int = 0

    def signal(self) -> None:
        self.stops += 1

    def opened(self) -> Stop:
        """The stop of a command that runs."""
        stop = Stop(Stops(self.signal))
        stop.__enter__()
        return stop

    def ended(self, reason: str, *, slow: bool = False) -> Exception:
        assert slow
        return Ended(reason)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time; tests move it."""
    times = [1000.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: times[0]))
    return times


def test_a_guest_is_stopped_when_it_has_computed_long_enough(now: list[float]) -> None:
    kernel = Kernel()
    watched = CommandClock(kernel, kernel.opened(), 1.0, lambda: False)
    assert 0 < watched.look() <= 0.25
    now[0] += 3600  # the machine is busy elsewhere
    kernel.cpu_seconds = 10.9
    assert watched.look() == pytest.approx(0.1)
    assert kernel.stops == 0
    kernel.cpu_seconds = 11.0
    for _ in range(3):
        watched.look()
        assert kernel.stops == 1, "signals that a kernel sees as one cannot be counted"
        now[0] += 0.2
    assert watched.cell_seconds == pytest.approx(1.0)
    now[0] += 2.0
    with pytest.raises(Ended, match="did not stop within 2 s"):
        watched.look()


def test_an_interrupted_guest_has_less_time(now: list[float]) -> None:
    kernel, asked = Kernel(), [False]
    watched = CommandClock(kernel, kernel.opened(), None, lambda: asked[0])
    watched.look()
    assert kernel.stops == 0
    asked[0] = True
    watched.look()
    assert kernel.stops == 1
    now[0] += 0.6
    with pytest.raises(Ended, match=r"did not stop within 0\.5 s"):
        watched.look()


def test_the_export_of_values_has_a_limit_of_its_own(now: list[float]) -> None:
    kernel = Kernel()
    watched = CommandClock(kernel, kernel.opened(), 1.0, lambda: False)
    kernel.cpu_seconds = 10.9
    watched.export()
    kernel.cpu_seconds = 10.9 + EXPORT_SECONDS - 0.1
    watched.look()
    watched.export()  # a second one gives no more time
    assert kernel.stops == 0
    kernel.cpu_seconds = 11.0 + EXPORT_SECONDS
    watched.look()
    assert kernel.stops == 1
    assert watched.cell_seconds == pytest.approx(0.9)
