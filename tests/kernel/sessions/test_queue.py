"""Tests of interpstack.sessions.queue."""

from __future__ import annotations

import asyncio

import pytest

from interpstack import ConfigurationError, SessionClosed
from interpstack.sessions.queue import SessionQueue, _uses


class Watched(SessionQueue):
    """A queue that notes whose realm was let go of, and who has left."""

    def __init__(self, key: str = "a") -> None:
        self.lost_count = self.left_count = 0
        super().__init__(key, self._note_lost, self._note_left)

    def _note_lost(self) -> None:
        self.lost_count += 1

    async def _note_left(self) -> None:
        self.left_count += 1


async def test_users_have_the_session_one_after_another() -> None:
    queue, seen = Watched(), list[str]()

    async def use(name: str) -> None:
        async with queue.lock():
            seen.append(f"{name} in")
            await asyncio.sleep(0)
            seen.append(f"{name} out")

    await asyncio.gather(use("a"), use("b"))
    assert seen == ["a in", "a out", "b in", "b out"]
    assert (queue.left_count, queue.lost_count) == (2, 0)


async def test_a_user_who_fails_leaves_the_session_to_the_next() -> None:
    queue = Watched()
    with pytest.raises(ValueError, match="mine"):
        async with queue.lock():
            raise ValueError("mine")
    async with queue.lock():
        assert queue.lost_count == 0
    assert queue.left_count == 1


async def test_a_cell_cannot_wait_for_its_own_session() -> None:
    queue = Watched()
    with queue.running(), pytest.raises(ConfigurationError, match="wait for itself"):
        async with queue.lock():
            pass


async def test_sessions_that_wait_for_each_other_raise() -> None:
    one, other = Watched("one"), Watched("other")

    async def outer() -> None:
        async with one.lock():
            with one.running():
                await asyncio.sleep(0)
                async with other.lock():
                    pass

    async with other.lock():
        waiting = asyncio.ensure_future(outer())
        for _ in range(5):
            await asyncio.sleep(0)
        with other.running(), pytest.raises(ConfigurationError, match="'one'"):
            async with one.lock():
                pass
    await waiting


async def test_a_closed_queue_lets_nobody_in() -> None:
    queue = Watched()
    async with queue.lock_to_close() as first:
        assert first
        queue.close()
    async with queue.lock_to_close() as first:
        assert not first
    with pytest.raises(SessionClosed, match="'a' was closed"):
        async with queue.lock():
            pass


def test_the_realm_of_a_user_whose_loop_was_closed_is_let_go_of() -> None:
    queue = Watched()
    loop = asyncio.new_event_loop()
    user = queue.lock()
    loop.run_until_complete(user.__aenter__())
    loop.close()

    async def use() -> None:
        async with queue.lock():
            assert queue.lost_count == 1

    asyncio.run(use())


async def test_cells_that_begin_each_other_do_not_remember_all_before_them() -> None:
    queue = Watched()

    async def hop(left: int) -> int:
        async with queue.lock():
            with queue.running():
                after = asyncio.ensure_future(hop(left - 1)) if left else None
                uses = len(_uses.get())
        return max(uses, await after) if after else uses

    assert await hop(50) <= 2


async def test_code_that_a_cell_began_may_use_its_session_after_the_cell() -> None:
    queue, over = Watched(), asyncio.Event()

    async def later() -> str:
        await over.wait()
        async with queue.lock():
            return "used"

    async with queue.lock():
        with queue.running():
            task = asyncio.ensure_future(later())
    over.set()
    assert await asyncio.wait_for(task, 10) == "used"
