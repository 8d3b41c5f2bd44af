"""Random programs and plans: what a seed stands for, and how a plan becomes smaller."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
from tests.model.evals import Plan

__all__ = ["EvalPlan", "eval_plan", "smaller"]

#: A statement of a program: its kind, and its parts.
Tree = tuple[Any, ...]


@attrs.frozen
class EvalPlan:
    """A program as a tree, and what happens while it runs.

    Attributes:
        program: The statements.
        plan: The plan; its source is that of the program.
    """

    program: tuple[Tree, ...]
    plan: Plan

    @classmethod
    def of(cls, program: Sequence[Tree], plan: Plan) -> EvalPlan:
        """The plan for a program."""
        return cls(tuple(program), attrs.evolve(plan, source=source(program, plan.world)))


#: The most callbacks of a process before it dies, of which one is drawn.
_DEATHS = {"evals": (20, 120, 500), "agents": (100, 400, 900)}
_HEAD = """seen = []
async def safe(call):
    try:
        return await call
    except ToolError as error:
        return str(error)
"""


def source(program: Sequence[Tree], world: str) -> str:
    """The code of a program, for the fake engine."""
    lines = [line for tree in program for line in _statement(tree)]
    text = _HEAD + "\n".join([*lines, "seen"])
    return text if world == "evals" else text.replace("kit.", "tools.")


def _statement(tree: Tree) -> list[str]:
    match tree:
        case ("await", call):
            return [f"seen.append(await safe({_call(call)}))"]
        case ("raises", call):
            return [f"seen.append(await {_call(call)})"]
        case ("all", *calls):
            each = ", ".join(f"safe({_call(one)})" for one in calls)
            return [f"seen.append(await gather({each}))"]
        case ("forget", call):
            return [_call(call)]
        case ("sleep", seconds):
            return [f"await sleep({seconds})"]
        case ("draw",):
            return ["seen.append(round(random(), 6))"]
        case ("loop", times, *inner):
            body = [f"    {line}" for one in inner for line in _statement(one)]
            return [f"for _ in range({times}):", *body]
    raise AssertionError(tree)


def _call(call: Tree) -> str:
    name, number = call
    return f"kit.{name}(n={number})"


def _program(chance: random.Random) -> list[Tree]:
    def call() -> Tree:
        return (chance.choice(["free", "pay"]), chance.randrange(10))

    def statement(depth: int) -> Tree:
        kind = chance.choices(
            ["await", "all", "forget", "sleep", "draw", "loop", "raises"],
            [6, 5, 1, 2, 1, 2 if depth else 0, 1],
        )[0]
        match kind:
            case "all":
                return ("all", *(call() for _ in range(chance.randint(2, 4))))
            case "sleep":
                return ("sleep", chance.choice([0, 0.05, 1, 15]))
            case "draw":
                return ("draw",)
            case "loop":
                inner = [statement(0) for _ in range(chance.randint(1, 2))]
                return ("loop", chance.randint(1, 3), *inner)
            case _:
                return (kind, call())

    return [statement(1) for _ in range(chance.randint(1, 5))]


def _numbered(program: Sequence[Tree]) -> list[Tree]:
    """The program without loops, and with another number in each call, by which calls are known."""
    numbers = itertools.count(1)
    found: list[Tree] = []
    for tree in program:
        match tree:
            case ("loop", _, *inner):
                found += inner
            case _:
                found.append(tree)
    return [_with_numbers(tree, numbers) for tree in found]


def _with_numbers(tree: Tree, numbers: Iterator[int]) -> Tree:
    kind, *parts = tree
    return (
        kind,
        *((part[0], next(numbers)) if isinstance(part, tuple) else part for part in parts),
    )


def eval_plan(seed: int, world: str = "evals") -> EvalPlan:
    """The plan of a seed in a world."""
    chance = random.Random(f"plan {seed}")
    troubled = chance.choice([0, 2, 4, 8])
    deaths = [
        chance.randint(1, chance.choice(_DEATHS[world])) for _ in range(chance.choice([0, 1, 2, 4]))
    ]
    stalls = {}
    if chance.random() < 0.3:
        stalls[chance.randrange(3)] = (chance.randint(5, 200), chance.choice([1.0, 12.0, 40.0]))
    jumps = chance.random() < 0.3
    plan = Plan(
        source="",
        world=world,
        deaths=deaths if troubled else (),
        stalls=stalls,
        offsets=(chance.uniform(-90, 90), chance.uniform(-5, 5)) if jumps else (0.0, 0.0),
        faulty=chance.choice([(0.0, 0.0), (0.0, 0.0), (0.05, 0.02), (0.02, 0.1)]),
        troubled=troubled,
        budget=chance.choice([None, None, 1, 3, 6]),
        slices=chance.choice([None, None, None, 0.0, 1.0, 5.0]),
        people={
            "reject": chance.choice([0, 0, 0.3]),
            "stale": chance.choice([0, 0.3]),
            "double": chance.choice([0, 0.4]),
            "cancel": chance.choice([0, 0, 0.3]),
            "plain": chance.choice([0, 0.5, 1]),
            "nothing": chance.choice([0, 0.2]),
        },
    )
    program = _program(chance)
    if stalls and chance.random() < 0.7:
        plan = attrs.evolve(plan, people={**plan.people, "impatient": 1})
    return EvalPlan.of(program if world == "evals" else _numbered(program), plan)


def smaller(given: EvalPlan) -> Iterator[EvalPlan]:
    """Plans with less in them, the smallest first."""
    program, plan = given.program, given.plan
    for index in range(len(program)):
        if len(program) > 1:
            yield EvalPlan.of([*program[:index], *program[index + 1 :]], plan)
        match program[index]:
            case ("all", *calls) if len(calls) > 1:
                fewer = [("all", *calls[:n], *calls[n + 1 :]) for n in range(len(calls))]
            case ("loop", times, *inner):
                fewer = [*inner, *([("loop", times - 1, *inner)] if times > 1 else [])]
            case _:
                fewer = []
        for one in fewer:
            yield EvalPlan.of([*program[:index], one, *program[index + 1 :]], plan)
    calm = [
        {"stalls": {}},
        {"deaths": ()},
        {"deaths": plan.deaths[1:]},
        {"deaths": plan.deaths[:-1]},
        {"faulty": (0.0, 0.0)},
        {"offsets": (0.0, 0.0)},
        {"budget": None},
        {"slices": None},
        {"troubled": plan.troubled - 1} if plan.troubled else {},
        *({"people": {**plan.people, name: 0}} for name in plan.people),
    ]
    for fields in calm:
        less = attrs.evolve(plan, **fields)
        if less != plan:
            yield EvalPlan(program, less)
