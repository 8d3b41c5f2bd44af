"""Simulated durable runs keep the invariants of the protocol; a seed repeats its run exactly."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.model.evals import Plan
from tests.model.mutants import MUTANTS, planted
from tests.model.plans import EvalPlan, eval_plan
from tests.model.protocol import INVARIANTS, Broken, Event, judge
from tests.model.simulate import Ended, exhaustive, found, run_plan, run_seed, shrunk

ROOT = Path(__file__).parents[2]
#: Seeds of the quick suite; `tox -e simulate` has more.
SEEDS, AGENT_SEEDS = range(60), range(12)
#: Planted faults, and seeds of which one finds each.
QUICK = {
    "records-are-not-awaited": range(3),
    "replay-ends-early": range(3),
    "undelivered-answers-are-forgotten": range(10),
    "errors-are-replayed-as-values": range(10),
    "calls-in-flight-are-forgotten": range(10),
    "one-question-for-a-tool": range(5),
    "budgets-begin-anew-in-each-run": range(20),
    "claims-are-given-to-everybody": range(3),
    "plain-answers-count-for-unseen-questions": range(41, 44),
}
#: A search, two calls side by side of which one needs an approval, and a call after it.
SMALL = [("await", ("free", 1)), ("all", ("free", 2), ("pay", 3)), ("await", ("free", 6))]

# Dead processes leave coroutines that never run again.
pytestmark = [
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """The product warns of what the simulation does to it."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def check(ended: Ended, what: str) -> None:
    trace = "\n".join(map(str, ended.trace))
    assert ended.broken is None, f"{what}: {ended.broken}\n{trace}"


def test_random_plans_keep_the_invariants() -> None:
    kinds: set[str] = set()
    for seed in SEEDS:
        ended = run_seed(seed)
        check(ended, f"seed {seed}")
        kinds |= {event.kind for event in ended.trace}
    everything = {"ask", "show", "decide", "die", "cancel", "fault", "suspend", "resume"}
    assert kinds >= everything, "these seeds try everything"


def test_agents_with_random_plans_keep_the_invariants() -> None:
    kinds: set[str] = set()
    for seed in AGENT_SEEDS:
        ended = run_seed(seed, "agents")
        check(ended, f"seed {seed}")
        kinds |= {event.kind for event in ended.trace}
    assert kinds >= {"ask", "show", "decide", "die", "fault", "suspend", "resume"}


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_fault_is_found(name: str) -> None:
    hit = found(MUTANTS[name], QUICK[name])
    assert hit is not None
    seed, broken = hit
    assert broken.invariant in MUTANTS[name].breaks
    assert run_seed(seed, MUTANTS[name].world).broken is None, "it is the fault that was found"


def test_planted_faults_break_invariants_that_there_are() -> None:
    assert len(MUTANTS) >= 20
    for fault in MUTANTS.values():
        assert {*fault.breaks} <= INVARIANTS.keys()


def test_a_process_may_die_at_every_await_of_a_small_program() -> None:
    deaths = 0
    for at, ended in exhaustive(EvalPlan.of(SMALL, Plan("")), seed=7):
        check(ended, f"death after callback {at}")
        assert ended.trace[-1].kind in ("settle", "renew")
        deaths += sum(event.kind == "die" for event in ended.trace)
    assert deaths > 50


def test_a_seed_repeats_its_run_in_another_process() -> None:
    code = (
        "import logging; logging.disable(50); from tests.model.simulate import run_seed;"
        "print([run_seed(seed).digest for seed in (3, 11, 33)])"
    )
    other = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": f"{ROOT}/src:{ROOT}/plugins"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == str([run_seed(seed).digest for seed in (3, 11, 33)])


def events(*kinds: tuple[str, str, dict[str, Any]]) -> list[Event]:
    return [Event(kind, "r", life, data, float(at)) for at, (kind, life, data) in enumerate(kinds)]


BEGUN = ("begin", "A0", {})
CALLED = ("call", "A0", {"key": "k", "number": 1})
RECORDED = (
    *("record", "A0"),
    {"index": 0, "entry": "e", "answers": [("k", "d")], "step": ["k"], "asked": 1},
)
DELIVERED = ("deliver", "A0", {"key": "k", "digest": "d"})
ASKED = ("ask", "A0", {"questions": [("q", "k")]})
SHOWN = ("show", "", {"questions": [("q", "k")]})
APPROVED = ("decide", "", {"decisions": {"q": "approve"}})
REJECTED = ("decide", "", {"decisions": {"q": "reject"}})
PAID = ("call", "A0", {"key": "k", "number": 1, "gated": True})
PAID_UNSEEN = ("call", "A0", {"key": "other", "number": 1, "gated": True})
LEFT = ("suspend", "A0", {})
ENDED = ("settle", "A0", {"end": "x"})
SENT = ("send", "", {"message": "m", "acknowledged": True})
TAKEN = ("take_over", "A0", {"seconds": 10})

#: For each invariant a trace that breaks it with its last event.
BREAKING: dict[str, list[Any]] = {
    "recorded-once": [BEGUN, CALLED, RECORDED, LEFT, CALLED],
    "window": [BEGUN, CALLED, CALLED],
    "recorded-first": [BEGUN, CALLED, DELIVERED],
    "same-answer": [BEGUN, CALLED, RECORDED, ("deliver", "A0", {"key": "k", "digest": "other"})],
    "same-order": [BEGUN, CALLED, RECORDED, DELIVERED, DELIVERED],
    "approved-first": [BEGUN, ASKED, PAID],
    "shown-first": [
        *(BEGUN, ASKED, SHOWN, APPROVED, PAID),
        *(("ask", "A0", {"questions": [("p", "other")]}), APPROVED, PAID_UNSEEN),
    ],
    "rejected-never": [BEGUN, ASKED, SHOWN, REJECTED, PAID],
    "quiet-pause": [BEGUN, ASKED, CALLED],
    "log-kept": [BEGUN, CALLED, RECORDED, ("record", "A0", {"index": 0, "entry": "f"})],
    "one-holder": [TAKEN, ("take_over", "B1", {"seconds": 10})],
    "one-writer": [("fence", "A0", {}), ("fence", "B1", {}), RECORDED],
    "refused-last": [BEGUN, ("refused", "A0", {}), CALLED],
    "ended-last": [BEGUN, ENDED, CALLED],
    "ended-once": [BEGUN, ENDED, ("settle", "B1", {"end": "y"})],
    "budget-held": [BEGUN, CALLED, ("call", "A0", {"key": "l", "number": 2})],
    "message-once": [
        *(BEGUN, SENT, ("receive", "A0", {"message": "m", "step": "1"})),
        ("receive", "A0", {"message": "m", "step": "2"}),
    ],
    "message-kept": [BEGUN, SENT, ENDED],
    "same-run": [BEGUN, ("error", "A0", {"name": "ReplayDivergence"})],
    "progress": [BEGUN, ("stuck", "", {})],
}


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_the_model_names_the_broken_invariant_and_its_event(invariant: str) -> None:
    trace = events(*BREAKING[invariant])
    with pytest.raises(Broken) as caught:
        judge(trace, {"r": 1} if invariant == "budget-held" else {}, lasting=True)
    assert caught.value.invariant == invariant
    assert (caught.value.at, caught.value.event) == (len(trace) - 1, trace[-1])
    judge(trace[:-1], lasting=True)


def test_the_page_has_the_invariants_of_the_model() -> None:
    page = (ROOT / "docs" / "explanation" / "proof.md").read_text()
    rows = dict(
        line.strip("| ").split(" | ")[:2] for line in page.splitlines() if line.startswith("| `")
    )
    found = {name.strip("`"): sentence for name, sentence in rows.items()}
    assert {name: found.get(name) for name in INVARIANTS} == dict(INVARIANTS)


def test_a_plan_that_fails_shrinks_to_a_smaller_one_that_fails() -> None:
    fault = MUTANTS["undelivered-answers-are-forgotten"]
    hit = found(fault, range(10))
    assert hit is not None
    seed, broken = hit
    with planted(fault):
        less = shrunk(eval_plan(seed), seed, broken.invariant, tries=40)
        again = run_plan(less, seed)
    assert again.broken is not None
    assert again.broken.invariant == broken.invariant
    assert len(less.plan.source) < len(eval_plan(seed).plan.source)
