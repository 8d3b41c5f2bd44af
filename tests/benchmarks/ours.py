"""Our side. Each function sets a case up and returns what runs it once."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any

import guest_code
from memory import resident_bytes

__all__: list[str] = []

Once = Any  # agents.py, which names it, imports langchain


async def one_plus_one() -> Once:
    return await _in_session("1 + 1", times=guest_code.WARM_TIMES)


async def console_lines() -> Once:
    return await _in_session(guest_code.CONSOLE_LINES, times=guest_code.WARM_TIMES)


async def rows_100() -> Once:
    return await _in_session(guest_code.ROWS_RESULT, guest_code.make_rows(100))


async def rows_1000() -> Once:
    return await _in_session(guest_code.ROWS_RESULT, guest_code.make_rows(1000))


async def _in_session(code: str, before: str = "0", times: int = 1) -> Once:
    # Both sides: the interpreter of one conversation as the middleware uses it, from the
    # source text to the text the model reads; no graph, no model.
    from interpstack import InterpreterStack, Limits

    limits = Limits(cpu_seconds=guest_code.TIMEOUT_SECONDS)
    session = InterpreterStack(plugins=["console"], limits=limits).session("bench")

    async def one() -> float:
        begun = time.perf_counter()
        text = session.render(await session.eval(code))
        spent = time.perf_counter() - begun
        if "<result>" not in text:
            raise RuntimeError(text[:500])
        return spent

    async def once() -> dict[str, float]:
        return {"s": statistics.median([await one() for _ in range(times)])}

    await session.eval(before)
    return once


async def idle_sessions() -> Once:
    before = resident_bytes()  # so the engine and everything else that is imported counts
    from interpstack import InterpreterStack

    async def once() -> dict[str, float]:
        stack = InterpreterStack(plugins=["console"])
        threads = 0
        for number in range(1000):
            async with stack.session(f"session {number}") as session:
                await session.eval(f"let n = {number}; const label = 'session ' + n")
            threads = threads or threading.active_count() + _pool_threads()
        return {
            "bytes": resident_bytes() - before,
            "threads": max(0, threading.active_count() - threads),
        }

    return once


def _pool_threads() -> int:
    """Threads the shared pools may still start; they belong to no session."""
    import os

    started = sum(t.name.startswith("interpstack-guest") for t in threading.enumerate())
    return 2 * (os.cpu_count() or 2) - started  # for turns of guests, and for other work


def _middleware(mode: str, durable: bool = True, plugins: Sequence[Any] = ()) -> Any:
    from interpstack_langchain import CodeInterpreterMiddleware

    return CodeInterpreterMiddleware(
        ptc=["echo", "count_rows"],
        mode=mode,
        timeout=guest_code.TIMEOUT_SECONDS,
        durable=durable,
        plugins=plugins,
    )


async def parallel_calls() -> Once:
    from agents import last_eval

    return await last_eval(_middleware, guest_code.PARALLEL_CALLS)


async def sequential_calls() -> Once:
    from agents import last_eval

    return await last_eval(_middleware, guest_code.SEQUENTIAL_CALLS)


async def durable_parallel() -> Once:
    return await _durable(guest_code.PARALLEL_CALLS)


async def durable_sequential() -> Once:
    return await _durable(guest_code.SEQUENTIAL_CALLS)


async def _durable(code: str) -> Once:
    """The same eval with its calls recorded and without, in one process, taking turns."""
    from agents import last_eval

    recorded = await last_eval(_middleware, code)
    plain = await last_eval(lambda mode: _middleware(mode, durable=False), code)

    async def once() -> dict[str, float]:
        with_record, without = (await recorded())["s"], (await plain())["s"]
        return {"ratio": with_record / without, "added": (with_record - without) / 100}

    await once()
    return once


async def checked() -> Once:
    from checked import added

    return await added()


async def checked_types() -> Once:
    from checked import added

    return await added("types")


async def traced() -> Once:
    from traced import traced

    return await traced(_middleware)


async def rows_argument() -> Once:
    from agents import last_eval

    return await last_eval(_middleware, guest_code.ROWS_ARGUMENT, guest_code.make_rows(1000))


async def agent_turn() -> Once:
    from agents import agent_turn

    return await agent_turn(_middleware)


async def thread_turn() -> Once:
    from stored import thread_turn

    return await thread_turn(_middleware)


async def large_state() -> Once:
    from stored import large_state

    return await large_state(_middleware)


async def stored() -> Once:
    from stored import sizes

    return await sizes(_middleware, ("interpreter_record", "interpreter_turn"))


def turn_middleware() -> Any:
    """What this side adds to the graph whose turns are measured under load."""
    return _middleware("turn")
