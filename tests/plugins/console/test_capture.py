"""Output comes to who listens while its cell runs, waits, computes, or is left."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from engines import OnEngine

from interpstack import InterpreterStack, Limits, bridge
from interpstack_console.capture import source

LIMITS = Limits(cpu_seconds=60, wall_seconds=60, console_chars=100_000)
#: By language: prints, then computes for longer than anybody waits.
COMPUTES = {
    "javascript": "console.log('one'); console.log('two'); for (;;) {}",
    "python": "print('one')\nprint('two')\nwhile True: pass",
}
WAITS = {
    "javascript": "for (let i = 0; i < 3; i++) { console.log('line', i); await host.step({}) }",
    "python": "for i in range(3):\n    print('line', i)\n    await host.step()",
}
#: More than an engine shows of what is printed in one go.
MUCH = {
    "javascript": "for (let i = 0; i < 9000; i++) console.log('line', i); await host.step({}); "
    "console.log('end')",
    "python": "for i in range(9000): print('line', i)\nawait host.step()\nprint('end')",
}


@pytest.mark.engines("all")
async def test_a_guest_that_computes_is_heard(on_engine: OnEngine) -> None:
    # V8 stops at the end of its time only.
    limits = Limits(cpu_seconds=3) if on_engine.name == "v8" else LIMITS
    heard: list[str] = []
    both = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hear(part: str) -> None:
        heard.append(part)
        if "two" in "".join(heard):
            loop.call_soon_threadsafe(both.set)

    stack = InterpreterStack(on_engine.name, ["console"], limits=limits)
    with stack:
        async with stack.session() as session:
            running = asyncio.ensure_future(
                session.eval(COMPUTES[on_engine.language], on_console=hear)
            )
            await asyncio.wait_for(both.wait(), 30)
            assert not running.done()
            running.cancel()
            await asyncio.wait({running})
    assert "".join(heard).removesuffix("\n") == "one\ntwo"


@pytest.mark.engines("all")
async def test_a_guest_that_waits_is_heard_line_by_line(on_engine: OnEngine) -> None:
    heard: list[str] = []
    seen: list[str] = []

    @bridge("host.step")
    async def step() -> None:
        seen.append("".join(heard).removesuffix("\n"))

    stack = InterpreterStack(on_engine.name, ["console"], bridges=[step], limits=LIMITS)
    with stack:
        async with stack.session() as session:
            outcome = await session.eval(WAITS[on_engine.language], on_console=heard.append)
    assert seen == ["line 0", "line 0\nline 1", "line 0\nline 1\nline 2"]
    assert outcome.console == "".join(heard).removesuffix("\n") == seen[-1]


@pytest.mark.engines("all")
async def test_much_output_is_whole_once_the_guest_waits(on_engine: OnEngine) -> None:
    heard: list[str] = []
    whole = "\n".join(f"line {i}" for i in range(9000))

    @bridge("host.step")
    async def step() -> None:
        assert "".join(heard).removesuffix("\n") == whole

    stack = InterpreterStack(on_engine.name, ["console"], bridges=[step], limits=LIMITS)
    with stack:
        async with stack.session() as session:
            outcome = await session.eval(MUCH[on_engine.language], on_console=heard.append)
    assert outcome.error is None
    assert outcome.console == "".join(heard).removesuffix("\n") == f"{whole}\nend"


@pytest.mark.engines("javascript")
async def test_the_bound_holds_for_a_whole_cell(on_engine: OnEngine) -> None:
    heard: list[str] = []

    @bridge("host.step")
    async def step() -> None: ...

    limits = Limits(console_chars=1000)
    code = "for (let i = 0; i < 50; i++) { console.log('x'.repeat(99)); await host.step({}) }"
    stack = InterpreterStack(on_engine.name, ["console"], bridges=[step], limits=limits)
    with stack:
        async with stack.session() as session:
            outcome = await session.eval(code, on_console=heard.append)
            quiet: Any = await session.eval(code)
    assert outcome.console == quiet.console == "".join(heard)
    assert len(outcome.console) <= 1000
    assert outcome.console_omitted_chars == quiet.console_omitted_chars > 3700


def test_the_source_is_ascii() -> None:
    assert source().source.isascii()
    assert "\\u2026" in source().source
