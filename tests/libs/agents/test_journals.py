"""A store for durable cells needs two methods, and says what it does not do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import HostOffer, InterpreterStack, bridge
from interpstack_agents import JournalBase
from interpstack_durable.api import Journals


class Memory(JournalBase):
    def __init__(self) -> None:
        super().__init__("order 17")
        self.entries: dict[int, Any] = {}

    async def load(self) -> list[Any]:
        return [self.entries[index] for index in sorted(self.entries)]

    async def append(self, index: int, entry: Any) -> None:
        self.entries[index] = entry


class Wait(Exception):
    """A call that cannot be answered now."""


@pytest.fixture
def done() -> list[int]:
    return []


@pytest.fixture
def stack(done: list[int]) -> Iterator[InterpreterStack]:
    @bridge
    async def count(n: int) -> int:
        done.append(n)
        return n

    with InterpreterStack(bridges=[count], plugins=["durable"]) as made:
        yield made


async def test_a_cell_with_the_same_store_repeats_no_call(
    stack: InterpreterStack, done: list[int]
) -> None:
    memory = Memory()
    for _ in range(3):
        async with stack.session() as session:
            session.bind(HostOffer(parts=[Journals(lambda host: host)]))
            outcome = await session.eval("await count({n: 4})", host=memory)
            assert outcome.text == "4"
    assert done == [4]


async def test_a_pause_is_the_exception_of_the_first_call() -> None:
    one, two = Wait(), Wait()
    paused: Any = [(None, one), (None, two)]
    assert await Memory().pause(None, paused, []) is one


async def test_what_a_store_does_not_do_it_refuses() -> None:
    memory = Memory()
    assert (memory.spent(), await memory.suspended(), memory.suspends) == ((), None, False)
    with pytest.raises(NotImplementedError, match="Memory does not store budgets: override"):
        await memory.append_spent({})
    with pytest.raises(NotImplementedError, match="does not store suspended runs: override"):
        await memory.keep_suspended("")
