"""A program that uses an engine for the first time, with every file access on its loop told.

`python first_use.py SCENARIO ENGINE` prints what was found, and ends with status 1 if anything
was. Whatever is made before the loop runs may read files.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from blocking import Detector

from interpstack import Cell, HostOffer, InterpreterStack, Limits, bridge
from interpstack_skills.api import Skills

Work = Callable[[], Awaitable[None]]


@bridge("host.echo")
async def echo(v: int) -> int:
    return v


def session(engine: str, python: bool) -> Work:
    """Evals, images, values, a session that sleeps, one that wakes up."""
    stack = InterpreterStack(engine, ["console"], bridges=[echo], max_live_sessions=1)
    code = "print('a')\nx = await host.echo(v=1)\nx" if python else "console.log('a'); "
    code = code if python else code + "let x = await host.echo({v: 1}); x"

    async def work() -> None:
        async with stack.session("one") as one:
            outcome = await one.eval(code, on_console=lambda part: None)
            assert outcome.ok, outcome
            values = await one.values()
            await one.names()
        async with stack.session("two") as two:
            await two.load(values)
            assert (await two.eval("x")).text == "1"
        async with stack.session("one") as one:
            assert (await one.eval("x")).text == "1"
            assert not (await one.eval("nothing_like_it")).ok
            assert not (await one.eval("1 +* 2")).ok
        await stack.session("one").aclose()

    return work


def limits(engine: str, python: bool) -> Work:
    """A guest that computes for ever, one that fills its memory, one that is cancelled."""
    tight = Limits(cpu_seconds=0.2, memory_bytes=32 * 2**20)
    stack = InterpreterStack(engine, ["console"], limits=tight)
    loop = "while True: pass" if python else "for (;;) {}"
    hog = "let a = []; for (;;) a.push({})"
    hog = "a = []\nwhile True: a.append('x' * 1000)" if python else hog

    async def work() -> None:
        async with stack.session() as one:
            assert not (await one.eval(loop)).ok
            assert not (await one.eval(hog)).ok
            left = asyncio.ensure_future(one.eval(loop))
            await asyncio.sleep(0.05)
            left.cancel()
            await asyncio.wait({left})
            assert (await one.eval("1 + 1")).text == "2"

    return work


def typescript(engine: str, python: bool) -> Work:
    stack = InterpreterStack(engine, ["console"])

    async def work() -> None:
        async with stack.session() as one:
            cell = Cell(source="const n: number = 4; n", language="typescript")
            assert (await one.eval(cell)).text == "4"

    return work


def skills(engine: str, python: bool) -> Work:
    folder = Path("skills", "s")
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: s\ndescription: A skill.\n---\n")
    (folder / "index.ts").write_text("export const n: number = 5")
    stack = InterpreterStack(engine, ["console", "skills"])

    async def work() -> None:
        async with stack.session() as one:
            one.bind(HostOffer(parts=[Skills(Path("skills"))]))
            outcome = await one.eval('(await import("@/skills/s")).n')
            assert outcome.text == "5", outcome

    return work


def agent(engine: str, python: bool) -> Work:
    """Tools, budgets, approvals, signed state, and another process that goes on."""
    from langchain.agents import create_agent
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from interpstack_accounts.api import Budget
    from interpstack_langchain import CodeInterpreterMiddleware

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Model:
            return self

    @tool
    async def price(item: str) -> float:
        """A price."""
        return 3.5

    call = "p = await tools.price(item='a')" if python else "let p = await tools.price({item: 'a'})"
    saver = InMemorySaver()

    def make(*codes: str) -> Any:
        said = [
            AIMessage("", tool_calls=[{"name": "eval", "args": {"code": code}, "id": code}])
            for code in codes
        ]
        model = Model(messages=iter([*said, AIMessage("done")]), disable_streaming=True)
        interpreter = CodeInterpreterMiddleware(
            engine=engine,
            ptc=["price"],
            interrupt_on={"price": True},
            budget=Budget(requests=9),
            snapshot_signing_key="k" * 16,
            skills_backend=None,
        )
        return create_agent(model, tools=[price], middleware=[interpreter], checkpointer=saver)

    first, other = make(call, "p"), make("p")
    thread: Any = {"configurable": {"thread_id": "t"}}
    question: Any = {"messages": [("user", "?")]}

    async def work() -> None:
        paused = await first.ainvoke(question, thread)
        assert "__interrupt__" in paused
        approved: Any = Command(resume={"decisions": [{"type": "approve"}]})
        await first.ainvoke(approved, thread)
        answer = await other.ainvoke(question, thread)
        assert "3.5" in answer["messages"][-2].text, answer["messages"][-2]

    return work


def main(scenario: str, engine: str) -> int:
    makers = (session, limits, typescript, skills, agent)
    make = next(one for one in makers if one.__name__ == scenario)
    detector = Detector()
    work = make(engine, "monty" in engine)

    async def watched() -> None:
        detector.on = True
        try:
            await work()
        finally:
            detector.on = False

    asyncio.run(watched())
    print("\n".join(detector.found))
    return bool(detector.found)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
