"""Random workflows that end in the same way however often they are interrupted.

The same seed draws the same workflow in every process, so that a child process can be killed in the
middle of one, and another process can go on with it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import attrs

_META = "export const meta = {name: %s, description: 'drawn'}\n"
_HELPERS = """
import { sleep } from "workflow:extra"
const tried = async task => {
  try { return { ok: await task() } } catch (error) { return { failed: error.name } }
}
"""


@attrs.frozen
class WorkflowCase:
    """A drawn workflow.

    Attributes:
        source: The root's module.
        workflows: The modules of its children, by name.
        prompts: Prompts of all agents that any of them calls.
    """

    source: str
    workflows: dict[str, str]
    prompts: tuple[str, ...]


class _Drawing:
    """Draws expressions of JavaScript; all prompts of a case differ."""

    def __init__(self, random: Random, sleep_ms: int, *, asks: bool) -> None:
        self._random = random
        self._sleep_ms = sleep_ms
        self._asks = asks
        self._questions = 0
        self.workflows: dict[str, str] = {}
        self.prompts: list[str] = []

    def module(self, name: str, depth: int) -> str:
        count = self._random.randint(1, 4)
        steps = "".join(
            f"  phase('part {index}')\n  out.push(await ({self.step(depth)}))\n"
            for index in range(count)
        )
        body = f"export default async args => {{\n  const out = [args]\n{steps}  return out\n}}\n"
        return _META % json.dumps(name) + _HELPERS + body

    def step(self, depth: int) -> str:
        """An expression whose value is a promise."""
        simple = [self._agent, self._failing, self._retried, self._sleep, self._checkpoint]
        if self._asks:
            simple.append(self._ask)
        nested = [self._parallel, self._pipeline, self._sequence, self._child, self._race]
        return self._random.choice(simple + nested * 2 if depth > 0 else simple)(depth)

    def _prompt(self, kind: str) -> str:
        self.prompts.append(f"{kind} {len(self.prompts)}")
        return json.dumps(self.prompts[-1])

    def _agent(self, depth: int) -> str:
        return f"agent({self._prompt('say')})"

    def _failing(self, depth: int) -> str:
        return f"tried(() => agent({self._prompt('fail')}))"

    def _retried(self, depth: int) -> str:
        return f"agent({self._prompt('second')}, {{retry: {{maxAttempts: 3, backoffMs: 1}}}})"

    def _sleep(self, depth: int) -> str:
        return f"sleep({self._random.randint(0, self._sleep_ms)}).then(() => Math.random() < 1)"

    def _checkpoint(self, depth: int) -> str:
        return f"checkpoint('drawn', {self._random.randint(0, 99)})"

    def _ask(self, depth: int) -> str:
        self._questions += 1
        return f"ask('question {self._questions}')"

    def _several(self, depth: int) -> Iterator[str]:
        for _ in range(self._random.randint(1, 4)):
            yield self.step(depth - 1)

    def _parallel(self, depth: int) -> str:
        return f"parallel([{', '.join(f'() => {one}' for one in self._several(depth))}])"

    def _pipeline(self, depth: int) -> str:
        stages = ", ".join(f"(previous, item, index) => {one}" for one in self._several(depth))
        return f"pipeline([1], {stages})"

    def _sequence(self, depth: int) -> str:
        steps = "; ".join(f"all.push(await ({one}))" for one in self._several(depth))
        return f"(async () => {{ const all = []; {steps}; return all }})()"

    def _child(self, depth: int) -> str:
        name = f"child-{len(self.workflows)}"
        self.workflows[name] = ""
        self.workflows[name] = self.module(name, depth - 1)
        return f"tried(() => workflow({json.dumps(name)}, {{depth: {depth}}}))"

    def _race(self, depth: int) -> str:
        several = ", ".join(self._several(depth))
        return f"Promise.all([{several}]).then(all => all.length)"


def draw_case(seed: int, *, depth: int = 3, sleep_ms: int = 20, asks: bool = False) -> WorkflowCase:
    """The workflow of a seed.

    Args:
        seed: Any integer.
        depth: How deeply its parts are nested.
        sleep_ms: Milliseconds of one sleep at most.
        asks: Whether it asks questions, too, which somebody has to answer.
    """
    drawing = _Drawing(Random(seed), sleep_ms, asks=asks)
    source = drawing.module("root", depth)
    return WorkflowCase(source, drawing.workflows, tuple(drawing.prompts))


def drawn_agent(called: Callable[[str], None], seconds: float = 0.0) -> Callable[..., Any]:
    """The agent of drawn workflows: its prompt says how it ends.

    Args:
        called: Takes the prompt of each call that is to succeed or to fail for good.
        seconds: How long each call takes.
    """

    async def agent(call: Any) -> Any:
        kind = call.prompt.partition(" ")[0]
        await asyncio.sleep(seconds)
        if kind == "second" and call.attempt < 2:
            raise ConnectionError(f"attempt {call.attempt} of {call.prompt}")
        called(call.prompt)
        if kind == "fail":
            raise RuntimeError(f"no answer to {call.prompt}")
        return {"echo": call.prompt}

    return agent
