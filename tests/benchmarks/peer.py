"""The peer's side, `langchain-quickjs`. Same cases as in `ours.py`."""

from __future__ import annotations

import statistics
import threading
import time
from typing import Any

import guest_code
from agents import Once, last_eval
from agents import agent_turn as whole_turn
from langchain_quickjs import CodeInterpreterMiddleware
from langchain_quickjs._format import format_outcome
from langchain_quickjs._repl import _Registry
from memory import resident_bytes
from stored import large_state as state_of_rows
from stored import sizes
from stored import thread_turn as restored_turn

__all__: list[str] = []

#: Live interpreters for the memory case; a thousand would need a thousand threads.
_SESSIONS = 100


def _registry() -> _Registry:
    """What its middleware makes with default arguments, but for the timeout."""
    return _Registry(
        memory_limit=64 * 2**20,
        timeout=guest_code.TIMEOUT_SECONDS,
        capture_console=True,
        max_stdout_chars=4000,
    )


async def one_plus_one() -> Once:
    return await _in_session("1 + 1", times=guest_code.WARM_TIMES)


async def console_lines() -> Once:
    return await _in_session(guest_code.CONSOLE_LINES, times=guest_code.WARM_TIMES)


async def rows_100() -> Once:
    return await _in_session(guest_code.ROWS_RESULT, guest_code.make_rows(100))


async def rows_1000() -> Once:
    return await _in_session(guest_code.ROWS_RESULT, guest_code.make_rows(1000))


async def _in_session(code: str, before: str = "0", times: int = 1) -> Once:
    repl = _registry().get("bench")

    async def one() -> float:
        begun = time.perf_counter()
        text = format_outcome(await repl.eval_async(code), max_result_chars=4000)
        spent = time.perf_counter() - begun
        if "<result>" not in text:
            raise RuntimeError(text[:500])
        return spent

    async def once() -> dict[str, float]:
        return {"s": statistics.median([await one() for _ in range(times)])}

    await repl.eval_async(before)
    return once


async def idle_sessions() -> Once:
    """Interpreters as they are during a turn; measured with fewer, then scaled to 1,000."""

    async def once() -> dict[str, float]:
        registry = _registry()
        await registry.get("first").eval_async("0")
        before, threads = resident_bytes(), threading.active_count()
        for number in range(_SESSIONS):
            code = f"let n = {number}; const label = 'session ' + n; 0"
            await registry.get(f"session {number}").eval_async(code)
        scale = 1000 / _SESSIONS
        return {
            "bytes": scale * (resident_bytes() - before),
            "threads": scale * (threading.active_count() - threads),
        }

    return once


def _middleware(mode: Any) -> Any:
    return CodeInterpreterMiddleware(
        ptc=["echo", "count_rows"], mode=mode, timeout=guest_code.TIMEOUT_SECONDS
    )


async def parallel_calls() -> Once:
    return await last_eval(_middleware, guest_code.PARALLEL_CALLS)


async def sequential_calls() -> Once:
    return await last_eval(_middleware, guest_code.SEQUENTIAL_CALLS)


async def rows_argument() -> Once:
    return await last_eval(_middleware, guest_code.ROWS_ARGUMENT, guest_code.make_rows(1000))


async def agent_turn() -> Once:
    return await whole_turn(_middleware)


async def thread_turn() -> Once:
    return await restored_turn(_middleware)


async def large_state() -> Once:
    return await state_of_rows(_middleware)


async def stored() -> Once:
    channels = ("_quickjs_snapshot_payload", "_quickjs_slot_id")
    return await sizes(_middleware, channels)


def turn_middleware() -> Any:
    """What this side adds to the graph whose turns are measured under load."""
    return _middleware("turn")
