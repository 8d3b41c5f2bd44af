"""Tests of interpstack_monty.state: into a worker and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_monty
import pytest
from fake_monty import FakeWorker, FakeWorkers, MontyError

from interpstack import BridgeSet, EngineFailure, ImageError, Limits
from interpstack_monty import state as module
from interpstack_monty.crossing import errors
from interpstack_monty.images import Saved
from interpstack_monty.offer import offered
from interpstack_monty.state import MontyState, unopened
from interpstack_monty.workers import TRUSTED_SECONDS, KernelReplaced, kernel_source

Offer = Callable[..., BridgeSet]
LIMITS = Limits(memory_bytes=2**22)
FULL = MontyError(MemoryError("memory limit exceeded: 9 bytes > 5 bytes"))


@pytest.fixture(autouse=True)
def _client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "pydantic_monty", fake_monty.CLIENT)
    monkeypatch.setattr(module, "FAILURES", (MontyError, KernelReplaced))


@pytest.fixture
def worker() -> FakeWorker:
    return FakeWorker()


@pytest.fixture
def make(worker: FakeWorker, offer: Offer) -> Callable[..., MontyState]:
    def state(**saved: Any) -> MontyState:
        workers: Any = FakeWorkers(worker)
        return MontyState(workers, LIMITS, offer("kit.echo"), Saved(**saved), type_check=False)

    return state


def _raise(error: Exception) -> Callable[[str], Any]:
    def fail(source: str) -> Any:
        raise error

    return fail


def test_a_fresh_state_is_kernel_and_bridges(make: Any, worker: FakeWorker, offer: Offer) -> None:
    state = make()
    assert state.open_worker() is worker
    binding = offered(offer("kit.echo"), LIMITS.value_bytes)
    assert worker.ran == [kernel_source(), binding]
    assert (worker.bound, worker.loaded, worker.seconds) == (binding, [], [TRUSTED_SECONDS])
    assert worker.released == 0


def test_a_stored_state_is_bound_only_to_another_offer(
    make: Any, worker: FakeWorker, offer: Offer
) -> None:
    binding = offered(offer("kit.echo"), LIMITS.value_bytes)
    make(dump=b"dump", bound=binding).open_worker()
    assert (worker.loaded, worker.ran) == ([b"dump"], [])
    state = make(dump=b"dump", bound=binding)
    state.bind(offer("kit.other"))
    state.open_worker()
    assert worker.ran == [worker.bound]
    assert worker.bound != binding


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (MontyError(ValueError("damaged")), "the guest's state cannot be opened: ValueError"),
        (KernelReplaced("replaced"), "the guest's state cannot be opened: replaced"),
        (ImageError("damaged"), "the guest's state cannot be opened: damaged"),
        (FULL, "takes more memory than memory_bytes=4194304 allows; open it with a larger"),
    ],
)
def test_a_state_that_cannot_be_opened_gives_its_worker_back(
    make: Any, worker: FakeWorker, error: Exception, found: str
) -> None:
    worker.answer = _raise(error)
    with pytest.raises(EngineFailure, match=found):
        make().open_worker()
    assert worker.released == 1


def test_whatever_else_is_raised_gives_the_worker_back(make: Any, worker: FakeWorker) -> None:
    worker.answer = _raise(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        make().open_worker()
    assert worker.released == 1


@pytest.mark.parametrize("made_with", [2**21, 2**22])
def test_a_state_that_was_made_with_less_memory_fits(make: Any, made_with: int) -> None:
    state = make(made_with=made_with)
    state.check_room()
    assert state.workers.taken == 0


def test_a_state_that_was_made_with_more_memory_is_tried(make: Any, worker: FakeWorker) -> None:
    make(made_with=2**23).check_room()
    assert worker.released == 1
    make(made_with=None).check_room()
    assert worker.released == 2
    worker.answer = _raise(FULL)
    with pytest.raises(ImageError, match="open it with a larger memory_bytes"):
        make(made_with=2**23).check_room()
    assert worker.released == 3


def test_a_commit_notes_names_and_forgets_what_is_there_again(
    make: Any, worker: FakeWorker
) -> None:
    state = make(lost={"a": "why a", "gone": "why gone"}, roots=frozenset({"old"}))
    worker.bound = "kit = 1"
    worker.answer = lambda source: "a b old kit\n"
    assert state.commit(worker) == ()
    saved = state.saved
    assert (saved.dump, saved.names, saved.bound) == (b"dumped", ("a", "b"), "kit = 1")
    assert (saved.lost, saved.roots) == ({"gone": "why gone"}, {"old", "kit"})
    assert list(state.names()) == ["gone", "a", "b"]


def test_a_bridge_that_was_overwritten_is_bound_anew(make: Any, worker: FakeWorker) -> None:
    state = make()
    worker.bound = "kit = 1"
    worker.answer = lambda source: "a\nkit"
    assert state.commit(worker) == ("kit",)
    assert state.saved.bound == ""


def test_a_failed_commit_changes_nothing(make: Any, worker: FakeWorker) -> None:
    state = make()
    before = state.saved
    with pytest.raises(KernelReplaced):
        state.commit(worker)  # the answer is None
    worker.answer = lambda source: "a\n"
    worker.session.dump = lambda: _raise(FULL)("")
    with pytest.raises(MontyError):
        state.commit(worker)
    assert state.saved is before


def test_values_that_cannot_be_read_are_lost_with_the_reason(make: Any, worker: FakeWorker) -> None:
    answers = iter([None, None])
    worker.answer = lambda source: next(answers, {"a": [1, None]})
    assert make().exported(["a"]) == {"a": 1}
    state = make(dump=b"dump", bound=worker.bound)
    worker.answer = _raise(MontyError(ValueError("no")))
    data = {"$": "lost", "v": "it could not be read: ValueError: no"}
    assert state.exported(["a", "b"]) == {"a": data, "b": data}
    assert worker.released == 2


def test_names_are_each_reported_once(make: Any) -> None:
    state = make(kept={"a-b": 1, "x": 2}, lost={"x": "why", "y": "why"}, names=("y", "z"))
    assert list(state.names()) == ["a-b", "x", "y", "z"]


def test_only_a_memory_limit_advises_more_memory() -> None:
    plain = unopened("it", MemoryError("memory limit exceeded: 9 bytes > 5 bytes"), LIMITS)
    assert str(plain).startswith("it cannot be opened: ")
