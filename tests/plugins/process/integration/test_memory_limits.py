"""The memory limit of workers whose engine reserves far more memory than it uses."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from interpstack import InterpreterStack, Limits

pytest.importorskip("jsrun")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the memory held")

_SESSIONS = 40
_FILL = "const all = []; for (;;) all.push(new Array(1e5).fill(1.5))"


async def test_reserved_memory_does_not_count() -> None:
    """Each realm of V8 reserves 180 MB, so these have reserved more than the default allows."""
    async with InterpreterStack("process:v8", options={"workers": 1}) as stack:
        sessions = [stack.session(f"session {number}") for number in range(_SESSIONS)]
        for number, session in enumerate(sessions):
            outcome = await session.eval(f"var n = {number}; n")
            assert outcome.text == str(number), outcome
        (worker,) = stack.engine.pool.workers  # type: ignore[attr-defined]
        outcomes = await asyncio.gather(*(session.eval("n") for session in sessions))
        assert [outcome.text for outcome in outcomes] == [str(n) for n in range(_SESSIONS)]
        assert list(stack.engine.pool.workers) == [worker]  # type: ignore[attr-defined]


#: What V8 allocates outside the guest's heap to compile it; 3.3 GB, which no limit of V8 bounds.
_COMPILES = "new RegExp('\\\\p{RGI_Emoji}'.repeat(4000), 'v')"


@pytest.mark.parametrize(("code", "heap"), [(_FILL, 2**31), (_COMPILES, 2**26)])
async def test_a_worker_that_holds_too_much_ends(code: str, heap: int) -> None:
    options = {"workers": 1, "worker_memory_bytes": 2**28}
    async with InterpreterStack(
        "process:v8", options=options, limits=Limits(memory_bytes=heap, cpu_seconds=60)
    ) as stack:
        session = stack.session("one")
        await session.eval("var n = 41; n")
        error = (await session.eval(code)).error
        assert error is not None
        assert "the worker process ran out of memory (worker_memory_bytes)" in error.message
        assert (await session.eval("n + 1")).text == "42"


def peak_bytes(pid: int) -> int | None:
    """The most memory that a process has held; `None` if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    except FileNotFoundError:
        return None
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks else None


async def test_a_worker_is_bounded_without_options() -> None:
    held: list[int] = []

    async def watch(pid: int) -> None:
        while (peak := peak_bytes(pid)) is not None:
            held.append(peak)
            await asyncio.sleep(0.05)

    limits = Limits(cpu_seconds=60, wall_seconds=500)  # the engine's default: 64 MiB of memory
    async with InterpreterStack("process:v8", limits=limits) as stack:
        session = stack.session("one")
        await session.eval("var n = 41; n")
        (worker,) = stack.engine.pool.workers  # type: ignore[attr-defined]
        watching = asyncio.ensure_future(watch(worker.pid))
        error = (await session.eval(f"for (;;) {_COMPILES}")).error
        watching.cancel()
        assert error is not None
        assert "the worker process ran out of memory (worker_memory_bytes)" in error.message
        assert (await session.eval("n + 1")).text == "42"
    assert 2**31 < max(held) < 2**31 + 2**28
