"""Tasks of both suites end in the same state in all ways, and what differs is noticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import count
from typing import Any

import attrs
import pytest

if not all(find_spec(package) for package in ("agentdojo", "bfcl_eval", "bpe_openai")):
    pytest.skip("needs the packages of `tox run -e benefit`", allow_module_level=True)

from agentdojo_tasks import agentdojo_tasks
from benefit_oracle import Figures, tokens, work, work_in_all_ways
from benefit_tasks import Call, Task, ToolForm, Turn
from benefit_ways import WAYS, traced
from bfcl_tasks import bfcl_tasks

#: `measure.py` does all tasks.
_EVERY = 40
_numbers = count()


@pytest.mark.parametrize("read", [agentdojo_tasks, bfcl_tasks])
async def test_all_ways_end_in_the_same_state(read: Callable[[], list[Task]]) -> None:
    for task in read()[::_EVERY]:
        found = await work_in_all_ways(task, traced(task))
        assert found.keys() == WAYS.keys()
        assert all(len(figures) == len(task.turns) for figures in found.values())


@attrs.define
class _Counter:
    """A world of one number; `start` makes worlds differ."""

    value: int = 0

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        self.value += arguments["by"]
        return {"value": self.value}

    def state(self) -> Any:
        return self.value


def _task(new_world: Callable[[], _Counter], **options: Any) -> Task:
    schema = {"type": "object", "properties": {"by": {"type": "integer"}}}
    turn = Turn("Count 2 and 3.", [Call("count", {"by": 2}), Call("count", {"by": 3})], "Done.")
    return Task("a task", [ToolForm("count", "Counts.", schema)], [turn], new_world, **options)


async def test_worlds_that_differ_are_noticed() -> None:
    task = _task(lambda: _Counter(next(_numbers)))
    with pytest.raises(AssertionError, match=r"not in|left another world"):
        await work_in_all_ways(task, traced(task))


async def test_the_check_of_the_suite_counts() -> None:
    def check(world: Any, calls: Any) -> None:
        assert world.value == 6, "not solved"

    task = _task(_Counter, check=check)
    with pytest.raises(AssertionError, match="not solved"):
        await work_in_all_ways(task, traced(task))


async def test_a_call_that_fails_is_noticed() -> None:
    class Broken(_Counter):
        def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
            if arguments["by"] == 3:
                raise ValueError("broken")
            return super().call(tool, arguments)

    truth = traced(_task(_Counter))
    with pytest.raises(AssertionError, match="broken"):
        await work(_task(Broken), WAYS["code"], truth)


async def test_turns_and_tokens_are_counted() -> None:
    task = _task(_Counter)
    truth = traced(task)
    (calls,), _ = await work(task, WAYS["calls"], truth)
    (code,), _ = await work(task, WAYS["code"], truth)
    assert (calls.calls, calls.turns) == (2, 3)
    assert (code.calls, code.turns) == (2, 2)
    assert calls.read > calls.new > 0
    assert code.written < calls.written + tokens("[await tools.count({by: 2})]")


def test_figures_add_up() -> None:
    assert Figures(1, 2, 3, 4, 5) + Figures(1, 1, 1, 1, 1) == Figures(2, 3, 4, 5, 6)


def test_tokens_are_those_of_the_named_tokenizer() -> None:
    assert [tokens(text) for text in ("", "hello world", "antidisestablishmentarianism")] == [
        0,
        2,
        6,
    ]
