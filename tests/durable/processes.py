"""Runs an agent in processes that may be killed at any moment; each job is a process of its own.

Jobs are lines of JSON on the standard input; each is answered with the status of its process. A
process is forked off this one, so that what it needs is imported once for all of them.

A job counts the moments it passes, from the first call of its checkpointer on, and writes their
names down. With `kill`, it sends itself SIGKILL at the moment of that number.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from consent import conversation
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.tools import StructuredTool
from langgraph.types import Command, RetryPolicy
from scripted import Script, answers
from spenders import spending_agent
from stores import open_saver

from interpstack_langchain import CodeInterpreterMiddleware

JOURNAL = "interpreter_ledger"


class Moments:
    """Counts moments, and ends the process at one of them."""

    def __init__(self, folder: Path, kill: int | None) -> None:
        self.folder = folder
        self.kill = kill
        self.count = 0
        self.lock = threading.Lock()

    def __call__(self, name: str) -> None:
        with self.lock:
            _append(self.folder / "moments", f"{os.getpid()} {name}")
            if self.count == self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1

    def around(self, saver: Any, method: str, slow: float) -> None:
        """Pass a moment before and after each call of a checkpointer's method."""
        original = getattr(saver, method)

        @functools.wraps(original)
        def blocking(config: Any, written: Any, *rest: Any) -> Any:
            time.sleep(slow)
            name = _told(written)
            self(f"before {name}")
            done = original(config, written, *rest)
            self(f"after {name}")
            return done

        @functools.wraps(original)
        async def on_loop(config: Any, written: Any, *rest: Any) -> Any:
            await asyncio.sleep(slow)
            name = _told(written)
            self(f"before {name}")
            done = await original(config, written, *rest)
            self(f"after {name}")
            return done

        setattr(saver, method, on_loop if method.startswith("a") else blocking)


def _told(written: Any) -> str:
    """What a checkpointer is given, in one word or two."""
    if isinstance(written, dict):
        return "checkpoint"
    channels = [channel for channel, _ in written]
    if channels != [JOURNAL]:
        return "writes " + ",".join(sorted(set(channels)))
    entry = written[0][1]
    found = []
    if "notes" in entry:
        found.append("notes " + ",".join(key.split()[0] for key in sorted(entry["notes"])))
    answers = [*entry.get("settled", ()), *entry.get("kept", {}).get("settled", ())]
    if answers or "settled" in entry:
        found.append("record " + ",".join(str(answer[0]) for answer in answers))
    return " ".join(found)


class Outermost(AgentMiddleware[Any, Any, Any]):
    """Passes a moment before each inner call."""

    def __init__(self, moment: Moments) -> None:
        super().__init__()
        self.moment = moment

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        self._pass(request)
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        self._pass(request)
        return await handler(request)

    def _pass(self, request: Any) -> None:
        if request.tool_call["name"] == "act":
            self.moment(f"call {request.tool_call['args']['n']}")


def make_act(
    moment: Moments, parallel: bool, is_async: bool, failures: dict[str, int]
) -> StructuredTool:
    """A tool with an effect outside, told twice: as a line, and to somebody who knows keys.

    It fails for some numbers first, so many times in all processes together.
    """
    provider = moment.folder / "provider"
    for folder in (provider, _unpaid(provider)):
        folder.mkdir(exist_ok=True)

    def effect(n: int, salt: float, runtime: ToolRuntime) -> dict[str, int]:
        key = str(runtime.tool_call_id)
        failed = _lines(moment.folder / "failed")
        if failed.count(str(n)) < failures.get(str(n), 0):
            _append(moment.folder / "failed", str(n))
            moment(f"failed {n}")
            raise ConnectionError(f"no route for {n}")
        moment(f"effect {n}")
        _append(moment.folder / "effects", json.dumps([n, key, salt]))
        _pay_once(provider / key.replace(":", "-"), n)
        moment(f"effected {n}")
        return {"value": n * 10}

    # Those made at once end in another order than they were made in.
    def wait(n: int) -> float:
        return (n * 5 % 7) * 0.004 if parallel else 0

    def act(n: int, salt: float, runtime: ToolRuntime) -> dict[str, int]:
        """Act."""
        time.sleep(wait(n))
        return effect(n, salt, runtime)

    async def act_on_loop(n: int, salt: float, runtime: ToolRuntime) -> dict[str, int]:
        """Act."""
        await asyncio.sleep(wait(n))
        return effect(n, salt, runtime)

    if is_async:
        return StructuredTool.from_function(coroutine=act_on_loop, name="act")
    return StructuredTool.from_function(act, name="act")


def make_agent(job: dict[str, Any], moment: Moments, saver: Any) -> tuple[Any, list[Any]]:
    """The job's agent, and the interpreters that are to be closed."""
    failures = job.get("failures", {})
    act = make_act(moment, job["parallel"], job["store"].endswith("async"), failures)
    if "crew" in job:
        return spending_agent(job, moment, _append, act, saver)
    interpreter = CodeInterpreterMiddleware(
        ptc=[act],
        interrupt_on={
            "act": {
                "allowed_decisions": ["approve"],
                "when": lambda request: request.tool_call["args"]["n"] in job["gated"],
            }
        },
        tool_errors="raise" if failures else "tell",
    )
    outermost = Outermost(moment)
    agent = create_agent(Script(), middleware=[interpreter, outermost], checkpointer=saver)
    if failures:
        agent.retry_policy = (RetryPolicy(initial_interval=0.01, max_attempts=6, jitter=False),)
    return agent, [interpreter]


@asynccontextmanager
async def opened(job: dict[str, Any], moment: Moments) -> Any:
    """The job's agent, and the function that runs it."""
    is_async = job["store"].endswith("async")
    async with open_saver(job["store"], job["place"]) as saver:
        prefix = "a" if is_async else ""
        moment.around(saver, prefix + "put", job.get("slow_put", 0))
        moment.around(saver, prefix + "put_writes", 0)
        agent, interpreters = make_agent(job, moment, saver)
        config = {"configurable": {"thread_id": job["thread"]}}

        async def send(given: Any) -> Any:
            if is_async:
                return await agent.ainvoke(given, config)
            return await asyncio.to_thread(agent.invoke, given, config)

        async def look() -> Any:
            if is_async:
                return await agent.aget_state(config)
            return await asyncio.to_thread(agent.get_state, config)

        yield send, look
    for interpreter in interpreters:
        interpreter.stack.close()


async def run(job: dict[str, Any]) -> None:
    """Go on with the conversation, wherever it stands, until it has ended or paused.

    Somebody who comes back to a thread sees only its state: what waits is decided on, what was
    left is gone on with, and a message that the state does not have is sent again.
    """
    folder = Path(job["folder"])
    moment = Moments(folder, job["kill"])
    async with opened(job, moment) as (send, look):
        state = await look()
        begun = bool(state.values.get("messages"))
        given = None if begun else {"messages": [("user", json.dumps(job["steps"]))]}
        # What is next cannot be told from outside: a task that has written is not listed.
        while given or begun or state.next:
            if state.interrupts:
                (asked,) = state.interrupts
                decisions = [{"type": "approve"} for _ in asked.value["action_requests"]]
                given = Command(resume={"decisions": decisions})
            await send(given)
            moment("returned")
            state, given, begun = await look(), None, False
        (folder / "answers").write_text(json.dumps(answers(state.values)))


def _pay_once(paid: Path, n: int) -> None:
    """Pay for a key, whole or not at all; a key that is known is not paid for again.

    A process that dies in between leaves no file that is there but empty.
    """
    with tempfile.NamedTemporaryFile("w", dir=_unpaid(paid.parent)) as made:
        made.write(str(n))
        made.flush()
        os.fsync(made.fileno())
        with suppress(FileExistsError):
            os.link(made.name, paid)


def _unpaid(provider: Path) -> Path:
    """Where payments are that are not made yet, on the same file system."""
    return provider.with_name("unpaid")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _append(path: Path, line: str) -> None:
    """Add a line as one write: it outlives the process, as what the system has does."""
    file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    try:
        os.write(file, f"{line}\n".encode())
    finally:
        os.close(file)


def _forked(job: dict[str, Any]) -> int:
    """The status of the process that ran a job, negative for the signal that ended it."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        asyncio.run(conversation(job) if "aims" in job else run(job))
    except BaseException:  # noqa: BLE001 - told to the parent, which fails
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    for line in sys.stdin:
        print(_forked(json.loads(line)), flush=True)
