"""Simulations of durable runs, each from a seed.

    python -m tests.model.simulate                     # 1,000 seeds
    python -m tests.model.simulate --seeds 0..100000
    python -m tests.model.simulate --world agents      # LangGraph agents
    python -m tests.model.simulate --mutants           # look for all planted faults
    python -m tests.model.simulate --seed 4711         # one, with its trace
    python -m tests.model.simulate --seed 4711 --shrink

A seed that fails prints its plan, its trace and the broken invariant. The same seed gives the same
trace on every machine with the same Python and the same release.
"""

from __future__ import annotations

import argparse
import gc
import logging
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import blake2b

import attrs
from tests.model.evals import EvalWorld, Plan
from tests.model.mutants import MUTANTS, Mutant, planted
from tests.model.plans import EvalPlan, eval_plan, smaller
from tests.model.protocol import Broken, Event, judge
from tests.model.watching import World
from tests.model.worlds import simulated

__all__ = ["Ended", "exhaustive", "found", "run_plan", "run_seed", "search", "shrunk"]

#: Runs after which garbage is collected, while nothing is simulated.
_COLLECT = 50


@attrs.frozen
class Ended:
    """How a simulation ended.

    Attributes:
        trace: The events.
        broken: The broken invariant; `None` if the trace is allowed.
        steps: Callbacks of hosts that ran.
        seconds: Virtual seconds.
    """

    trace: Sequence[Event]
    broken: Broken | None
    steps: int
    seconds: float

    @property
    def digest(self) -> str:
        """Identifies the trace."""
        return blake2b("\n".join(map(str, self.trace)).encode(), digest_size=8).hexdigest()


def _world(plan: Plan, chance: random.Random) -> World:
    if plan.world == "evals":
        return EvalWorld(plan=plan, chance=chance)
    from tests.model.agents import AgentWorld  # takes seconds to import

    return AgentWorld(plan=plan, chance=chance)


def run_plan(given: EvalPlan, seed: int) -> Ended:
    """Simulate a plan; the seed decides what the plan leaves open."""
    chance = random.Random(seed)
    world = _world(given.plan, chance)
    with simulated(chance, world.died) as loop:
        loop.run_until_complete(world.drive(loop))
        steps, seconds = loop.steps, loop.now
    broken = None
    try:
        judge(world.trace, world.budgets)
    except Broken as found:
        broken = found
    return Ended(tuple(world.trace), broken, steps, seconds)


def run_seed(seed: int, world: str = "evals") -> Ended:
    """Simulate the plan of a seed in a world."""
    return run_plan(eval_plan(seed, world), seed)


def exhaustive(given: EvalPlan, seed: int) -> Iterator[tuple[int, Ended]]:
    """Let the first process of a plan die at each of its awaits in turn."""
    calm = attrs.evolve(given, plan=attrs.evolve(given.plan, deaths=(), troubled=0))
    for at in range(1, run_plan(calm, seed).steps + 1):
        plan = attrs.evolve(calm.plan, deaths=(at,), troubled=2)
        yield at, run_plan(attrs.evolve(calm, plan=plan), seed)


def shrunk(given: EvalPlan, seed: int, invariant: str, tries: int = 500) -> EvalPlan:
    """A smaller plan that breaks the same invariant."""
    found = True
    while found and tries:
        found = False
        for less in smaller(given):
            tries -= 1
            broken = run_plan(less, seed).broken
            if broken is not None and broken.invariant == invariant:
                given, found = less, True
                break
            if not tries:
                break
    return given


def _report(seed: int, given: EvalPlan, ended: Ended) -> None:
    print(f"seed {seed}: {attrs.evolve(given.plan, source='')}")
    print(given.plan.source)
    for event in ended.trace:
        print(event)
    print(f"{ended.steps} steps, {ended.seconds:.0f} virtual seconds, trace {ended.digest}")
    if ended.broken is not None:
        print(f"event {ended.broken.at}: {ended.broken.event}\n{ended.broken}")


def search(seeds: Iterable[int], run: Callable[[int], Ended]) -> int | None:
    """The first seed that breaks an invariant; `None` if none does."""
    for count, seed in enumerate(seeds, 1):
        if run(seed).broken is not None:
            return seed
        if count % _COLLECT == 0:
            gc.collect()
    return None


def found(fault: Mutant, seeds: Iterable[int]) -> tuple[int, Broken] | None:
    """The first seed that finds a planted fault, and the broken invariant."""
    with planted(fault):
        seed = search(seeds, partial(run_seed, world=fault.world))
        if seed is None:
            return None
        broken = run_seed(seed, fault.world).broken
        return None if broken is None else (seed, broken)


def _look_for_mutants(names: Sequence[str], seeds: range) -> int:
    """Print the first seed that finds each planted fault; 1 if one is not found."""
    missing = []
    for name in names or MUTANTS:
        began, hit = time.perf_counter(), found(MUTANTS[name], seeds)
        took = time.perf_counter() - began
        if hit is None or hit[1].invariant not in MUTANTS[name].breaks:
            missing.append(name)
        what = "NOT FOUND" if hit is None else f"seed {hit[0]}: {hit[1].invariant}"
        print(f"{name} ({MUTANTS[name].world}): {what}, {took:.1f} s", flush=True)
    print(f"{len(names or MUTANTS) - len(missing)} faults found, not found: {missing}")
    return 1 if missing else 0


def _seeds(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first), int(last))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, help="simulate this seed, and print its trace")
    parser.add_argument("--seeds", type=_seeds, default=range(1000), help="FIRST..LAST")
    parser.add_argument("--world", choices=["evals", "agents"], default="evals")
    parser.add_argument("--shrink", action="store_true", help="look for a smaller plan")
    parser.add_argument("--quiet", action="store_true", help="print no traces")
    parser.add_argument("--mutants", nargs="*", help="look for planted faults, by default all")
    parser.add_argument("--all", action="store_true", help="what `tox -e simulate` runs")
    given = parser.parse_args(arguments)
    if given.all:
        wholes = (
            ["--seeds", "0..10000"],
            ["--world", "agents"],
            ["--seeds", "0..10000", "--mutants"],
        )
        return max([main(whole) for whole in wholes])
    logging.disable(logging.CRITICAL)
    sys.unraisablehook = lambda raised: None  # of coroutines that dead processes leave behind
    seeds = given.seeds if given.seed is None else range(given.seed, given.seed + 1)
    if given.mutants is not None:
        return _look_for_mutants(given.mutants, seeds)
    began, bad = time.perf_counter(), []
    steps = 0
    for count, seed in enumerate(seeds, 1):
        ended = run_seed(seed, given.world)
        steps += ended.steps
        if count % _COLLECT == 0:
            gc.collect()
        if ended.broken is None and given.seed is None:
            continue
        bad += [seed] if ended.broken else []
        plan = eval_plan(seed, given.world)
        if given.shrink and ended.broken is not None:
            plan = shrunk(plan, seed, ended.broken.invariant)
            ended = run_plan(plan, seed)
        if given.quiet:
            print(f"seed {seed}: {ended.broken}", flush=True)
        else:
            _report(seed, plan, ended)
        if len(bad) >= 10:
            break
    took = time.perf_counter() - began
    print(
        f"{count} seeds in {took:.1f} s ({count / took:.0f} a second), "
        f"{steps / count:.0f} awaits each; {len(bad)} broke an invariant: {bad}"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
