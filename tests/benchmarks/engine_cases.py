"""One engine's side of the table by engine: `engine_cases.py ENGINE CASE` writes a line of JSON.

Each case runs in a process of its own, with the stack an agent would have and no agent.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from typing import Any

from guest_code import BY_LANGUAGE
from memory import resident_bytes

from interpstack import Cell, HostOffer, HostTool, InterpreterStack, Limits

__all__: list[str] = []

_REPEAT = 9
#: Between two cells, where an agent has a model turn: V8's threads need up to 10 ms after a cell.
_PAUSE_SECONDS = 0.02
_SESSIONS = 100
_LIMITS = Limits(cpu_seconds=120)


async def _echo(given: dict[str, Any], context: Any) -> Any:
    return given["text"]


def _stack(engine: str) -> InterpreterStack:
    return InterpreterStack(engine, ["console", "ptc"], limits=_LIMITS)


def _turn() -> HostOffer:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return HostOffer(tools=[HostTool(name="echo", call=_echo, input_schema=schema)])


async def _checked(session: Any, code: str) -> float:
    begun = time.perf_counter()
    text = session.render(await session.eval(Cell(source=code)))
    spent = time.perf_counter() - begun
    if "<result>" not in text:
        raise RuntimeError(text[:500])
    return spent


async def cold(engine: str) -> float:
    """From a stack to the first result; packages are imported, compiled guests are cached."""
    with _stack(engine) as warm:
        warm.prompt()  # imports the engine
    begun = time.perf_counter()
    with _stack(engine) as stack:
        await _checked(stack.session("bench"), "1 + 1")
        return time.perf_counter() - begun


async def _warm(engine: str, name: str, before: str = "before") -> float:
    with _stack(engine) as stack:
        code = BY_LANGUAGE[stack.engine.language]
        session = stack.session("bench")
        session.bind(_turn())
        await _checked(session, code[before])
        await _checked(session, code[name])
        found = []
        for _ in range(_REPEAT):
            await asyncio.sleep(_PAUSE_SECONDS)
            found.append(await _checked(session, code[name]))
        return statistics.median(found)


async def one_plus_one(engine: str) -> float:
    return await _warm(engine, "one_plus_one")


async def rows(engine: str) -> float:
    return await _warm(engine, "rows", "make_rows")


async def parallel_calls(engine: str) -> float:
    return await _warm(engine, "parallel_calls")


async def compute(engine: str) -> float:
    return await _warm(engine, "compute")


_LOCALES = {
    "number": "(1234.5).toLocaleString('de-DE', {style: 'currency', currency: 'EUR'})",
    "date": "new Date(0).toLocaleDateString('de-DE', {timeZone: 'Europe/Berlin'})",
}


async def first_number(engine: str) -> float:
    """The first format of a process, whose formatter is in the cache."""
    return await _first_format(engine, "number")


async def first_date(engine: str) -> float:
    """The same for a date."""
    return await _first_format(engine, "date")


async def _first_format(engine: str, kind: str) -> float:
    with InterpreterStack(engine, ["console", "intl"], limits=_LIMITS) as stack:
        session = stack.session("bench")
        filling = await asyncio.create_subprocess_exec(
            sys.executable, __file__, engine, "fill_locales", stdout=asyncio.subprocess.DEVNULL
        )
        await filling.wait()
        await _checked(session, "({a: 1})")
        return await _checked(session, _LOCALES[kind])


async def fill_locales(engine: str) -> float:
    """Put the formatter into the cache."""
    with InterpreterStack(engine, ["console", "intl"], limits=_LIMITS) as stack:
        return await _checked(stack.session("bench"), _LOCALES["number"])


async def two_at_once(engine: str) -> float:
    """How many times one cell's throughput two cells at once have; 2 at best, on two cores."""
    with _stack(engine) as stack:
        code = BY_LANGUAGE[stack.engine.language]["compute_long"]
        sessions = [stack.session(f"bench {n}") for n in range(2)]
        await asyncio.gather(*(_checked(session, code) for session in sessions))  # warm
        found = []
        for _ in range(3):
            alone = await _checked(sessions[0], code)
            begun = time.perf_counter()
            await asyncio.gather(*(_checked(session, code) for session in sessions))
            found.append(2 * alone / (time.perf_counter() - begun))
        return statistics.median(found)


async def idle_memory(engine: str) -> float:
    """Bytes of this process and of its workers that 100 idle sessions add, the engine's own too."""
    before = _resident()
    with _stack(engine) as stack:
        for number in range(_SESSIONS):
            async with stack.session(f"session {number}") as session:
                await _checked(session, BY_LANGUAGE[stack.engine.language]["small"])
        return _resident() - before


async def prestarted(engine: str) -> float:
    """From a new session to its first result, where a process waits for it."""
    with _stack(engine) as stack:
        await _checked(stack.session("first"), "1 + 1")  # starts the next process ahead
        found = []
        for number in range(_REPEAT):
            await asyncio.sleep(1.0)  # it comes up
            begun = time.perf_counter()
            await _checked(stack.session(f"session {number}"), "1 + 1")
            found.append(time.perf_counter() - begun)
        return statistics.median(found)


async def parallel_over_v8(engine: str) -> float:
    return await parallel_calls(engine) / await parallel_calls("v8")


async def compute_over_v8(engine: str) -> float:
    return await compute(engine) / await compute("v8")


async def bare_node(engine: str) -> float:
    """A Node that prints nothing, from its start to its end."""
    import subprocess

    from interpstack_javascript.node_runtime import find_node

    path, found = find_node().path, []
    for _ in range(_REPEAT):
        begun = time.perf_counter()
        subprocess.run([path, "-e", "0"], check=True)  # noqa: ASYNC221 - nothing else runs
        found.append(time.perf_counter() - begun)
    return statistics.median(found)


async def kernel_memory(engine: str) -> float:
    """Bytes of each process, after a small cell."""
    import psutil

    with _stack(engine) as stack:
        for number in range(4):
            await _checked(stack.session(f"session {number}"), BY_LANGUAGE["javascript"]["small"])
        children = psutil.Process().children(recursive=True)
        sizes = sorted(child.memory_info().rss for child in children)
        return float(sizes[-1])


async def many(engine: str) -> float:
    """200 conversations take two turns of five cells; at most 8 of them have a process."""
    with _stack(engine) as stack:
        begun = time.perf_counter()
        for number in (*range(200), *range(200)):
            async with stack.session(f"session {number}") as session:
                for _ in range(5):
                    await _checked(session, "globalThis.n = (globalThis.n ?? 0) + 1")
            if stack.engine.pool.resident > 8:
                raise RuntimeError("more than 8 sessions have a process")
        async with stack.session("session 7") as session:
            outcome = await session.eval(Cell(source="n"))
        if outcome.text != "10":
            raise RuntimeError(f"a conversation has lost its variables: {outcome.text}")
        return time.perf_counter() - begun


def _resident() -> int:
    import psutil

    workers = psutil.Process().children(recursive=True)
    return resident_bytes() + sum(worker.memory_info().rss for worker in workers)


if __name__ == "__main__":
    _engine, _case = sys.argv[1:]
    sys.stdout.write(json.dumps(asyncio.run(globals()[_case](_engine))) + "\n")
