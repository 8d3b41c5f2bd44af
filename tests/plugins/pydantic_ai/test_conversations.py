"""Variables and paused evals outlive runs and processes, by the id of the conversation."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    RunContext,
    UserError,
    capture_run_messages,
)
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.test import TestModel
from pydantic_ai_scripts import Make, Script, results

from interpstack import ConfigurationError
from interpstack_pydantic_ai import CodeInterpreter, answers, questions
from interpstack_state import FileStore, MemoryStore, SQLiteStore, StateRejected


def agent_of(*steps: Any, interpreter: Any, tools: Any = ()) -> Agent[Any, Any]:
    return Agent(
        Script(*steps).model,
        output_type=[str, DeferredToolRequests],
        capabilities=[interpreter],
        tools=tools,
    )


@pytest.fixture
def own_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop that PydanticAI uses for synchronous calls, and does not close itself."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    made = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "evals.db")
    yield made
    made.close()


async def test_variables_persist_across_evals_runs_and_interpreters(
    interpreter: Make, store: Any
) -> None:
    first = agent_of("let n = 1", "n += 1", interpreter=interpreter(store=store))
    await first.run("go", conversation_id="a")
    second = agent_of("n += 1", "n", interpreter=interpreter(store=store))
    assert (await second.run("go", conversation_id="a")).output == "<result>3</result>"
    other = agent_of("typeof n", interpreter=interpreter(store=store))
    assert (await other.run("go", conversation_id="b")).output == "<result>undefined</result>"


async def test_a_conversation_goes_on_with_the_history_of_messages(interpreter: Make) -> None:
    agent = agent_of("let n = 1", interpreter=interpreter())
    history = (await agent.run("go")).all_messages()
    with agent.override(model=Script("n + 1").model):
        run = await agent.run("on", message_history=history)
    assert run.output == "<result>2</result>"


async def test_the_user_can_say_which_conversation_a_run_belongs_to(interpreter: Make) -> None:
    def thread(ctx: RunContext[Any]) -> str:
        return str(ctx.deps)

    one = interpreter(conversation_id=thread)
    await agent_of("let n = 1", interpreter=one).run("go", deps="a")
    assert (await agent_of("n", interpreter=one).run("go", deps="a")).output == "<result>1</result>"
    with pytest.raises(UserError, match="the id of a conversation is a text"):
        await agent_of("n", interpreter=interpreter(conversation_id=lambda ctx: "")).run("go")


@pytest.mark.parametrize(("mode", "seen"), [("thread", "42"), ("turn", "4"), ("call", "")])
async def test_a_mode_says_how_long_variables_live(interpreter: Make, mode: str, seen: str) -> None:
    one = interpreter(mode=mode)
    agent = agent_of("var n = 4", "typeof n === 'undefined' ? '' : n", interpreter=one)
    first = results((await agent.run("go", conversation_id="c")).all_messages())[-1]
    agent = agent_of("typeof n === 'undefined' ? '' : '2'", interpreter=one)
    second = results((await agent.run("go", conversation_id="c")).all_messages())[-1]
    assert (first + second).replace("<result>", "").replace("</result>", "") == seen


async def test_a_turn_goes_on_after_an_approval(interpreter: Make) -> None:
    def pay() -> str:
        return "paid"

    agent = agent_of(
        "var n = 1", "n += 1; await tools.pay()", "n", "n + 1",
        interpreter=interpreter(mode="turn", interrupt_on=["pay"]), tools=[pay],
    )  # fmt: skip
    run = await agent.run("go")
    (question,) = questions(run.output)
    run = await agent.run(
        message_history=run.all_messages(),
        deferred_tool_results=answers(run.output, {question.id: True}),
    )
    assert run.output == "<result>3</result>"


async def test_a_turn_that_was_cancelled_goes_on_with_its_variables(
    interpreter: Make, store: Any
) -> None:
    begun, ends = asyncio.Event(), asyncio.Event()

    async def wait() -> int:
        begun.set()
        await ends.wait()
        return 2

    agent = agent_of(
        "var n = 40", "n + await tools.wait()",
        interpreter=interpreter(mode="turn", store=store), tools=[wait],
    )  # fmt: skip
    with capture_run_messages() as messages:
        running = asyncio.create_task(agent.run("go", conversation_id="c"))
        await begun.wait()
        running.cancel()
        await asyncio.wait([running])
    ends.set()
    history = messages[:4]
    assert history[-1].kind == "response"
    again = agent_of(interpreter=interpreter(mode="turn", store=store), tools=[wait])
    assert (await again.run(message_history=history)).output == "<result>42</result>"
    next_turn = agent_of("typeof n", interpreter=interpreter(mode="turn", store=store))
    assert (await next_turn.run("go", conversation_id="c")).output == "<result>undefined</result>"


async def test_evals_of_one_message_run_in_order(interpreter: Make) -> None:
    async def wait() -> None:
        await asyncio.sleep(0.05)

    agent = agent_of(
        ["await tools.wait(); let n = 1", "n += 1", "n *= 10; n"],
        interpreter=interpreter(), tools=[wait],
    )  # fmt: skip
    assert (await agent.run("go")).output == "<result>20</result>"


async def test_two_runs_of_one_conversation_wait_for_each_other(
    interpreter: Make, store: Any
) -> None:
    async def wait() -> None:
        await asyncio.sleep(0.01)

    async def add(one: Any) -> None:
        code = "globalThis.n ??= 0; const m = n; await tools.wait(); n = m + 1"
        await agent_of(code, interpreter=one, tools=[wait]).run("go", conversation_id="c")

    one, two = interpreter(store=store), interpreter(store=store)
    await asyncio.gather(*(add(each) for each in (one, two, one, two)))
    agent = agent_of("n", interpreter=one)
    assert (await agent.run("go", conversation_id="c")).output == "<result>4</result>"


async def test_streamed_runs(interpreter: Make) -> None:
    def look(n: int) -> int:
        return n + 1

    model = TestModel(call_tools=["eval"], custom_output_text="done", seed=0)
    agent = Agent(model, tools=[look], capabilities=[interpreter()])
    async with agent.run_stream("go") as stream:
        assert [text async for text in stream.stream_text(debounce_by=None)][-1] == "done"
    assert len(results(stream.all_messages())) == 1


def test_synchronous_runs(tmp_path: Path, own_loop: asyncio.AbstractEventLoop) -> None:
    def look(n: int) -> int:
        return n + 1

    one = CodeInterpreter[Any](store=f"{tmp_path}/evals.db")
    agent = agent_of("let n = await tools.look({n: 1})", interpreter=one, tools=[look])
    agent.run_sync("go", conversation_id="c")
    agent = agent_of("n", interpreter=one, tools=[look])
    assert agent.run_sync("go", conversation_id="c").output == "<result>2</result>"
    own_loop.run_until_complete(one.aclose())


async def test_an_eval_that_an_exception_ended_goes_on_and_repeats_no_recorded_call(
    interpreter: Make, store: Any
) -> None:
    done: list[str] = []
    broken = True

    def look() -> int:
        done.append("look")
        return 1

    def pay() -> int:
        if broken:
            raise OSError("the bank is closed")
        done.append("pay")
        return 2

    code = "await tools.look() + await tools.pay()"
    agent = agent_of(code, interpreter=interpreter(store=store), tools=[look, pay])
    with capture_run_messages() as messages, pytest.raises(OSError, match="bank"):
        await agent.run("go", conversation_id="c")
    broken = False
    # The run has closed the call in its history: to run it again, leave out that note.
    history = messages[:2]
    assert history[-1].kind == "response"
    again = agent_of(interpreter=interpreter(store=store), tools=[look, pay])
    assert (await again.run(message_history=history)).output == "<result>3</result>"
    assert done == ["look", "pay"]


async def test_the_store_is_left_with_one_state_a_conversation(interpreter: Make) -> None:
    def pay() -> int:
        return 1

    store = MemoryStore()
    agent = agent_of(
        "let n = 1; await tools.pay()",
        interpreter=interpreter(store=store, interrupt_on=["pay"]), tools=[pay],
    )  # fmt: skip
    run = await agent.run("go", conversation_id="c")
    (question,) = questions(run.output)
    assert len(list(store.blobs())) == 2
    await agent.run(
        message_history=run.all_messages(),
        deferred_tool_results=answers(run.output, {question.id: True}),
    )
    assert [(blob.key, blob.claimed) for blob in store.blobs()] == [("conversation:c", False)]


async def test_a_damaged_conversation_is_refused(interpreter: Make) -> None:
    store = MemoryStore()
    store.create("conversation:c", b"{")
    with pytest.raises(StateRejected, match="'c' is damaged"):
        await agent_of("1", interpreter=interpreter(store=store)).run("go", conversation_id="c")


async def test_forged_variables_are_not_restored(interpreter: Make) -> None:
    store, key = MemoryStore(), b"k" * 32
    await agent_of("let n = 1", interpreter=interpreter(store=store)).run("go", conversation_id="c")
    signed = interpreter(store=store, snapshot_signing_key=key)
    run = await agent_of("typeof n", interpreter=signed).run("go", conversation_id="c")
    assert "could not be restored" in run.output
    assert "<result>undefined</result>" in run.output


def test_a_store_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="store takes a StateStore or the URL of one"):
        CodeInterpreter(store=FileStore(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="store takes a StateStore or the URL of one"):
        CodeInterpreter(store=tmp_path.as_uri())


async def _id_later(ctx: Any) -> str:
    return "c"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"timeout": 0}, "timeout takes a number above 0"),
        ({"wall_timeout": "1"}, "wall_timeout takes a number above 0"),
        ({"memory_limit": 5}, "memory_limit takes a whole number from 4194304"),
        ({"max_ptc_calls": 0}, "max_ptc_calls takes a whole number from 1"),
        ({"max_result_chars": 0}, "max_result_chars takes a whole number from 1"),
        ({"max_snapshot_bytes": 0}, "max_snapshot_bytes takes a whole number from 1"),
        ({"snapshot_signing_key": b"x"}, "snapshot_signing_key takes at least 16 bytes"),
        ({"snapshot_signing_key": "x" * 32}, "snapshot_signing_key takes bytes or None"),
        ({"conversation_id": "c"}, "conversation_id takes a function of the RunContext"),
        ({"conversation_id": _id_later}, "conversation_id takes a function .* not async; got <fun"),
    ],
)
def test_a_wrong_argument_is_named_as_it_was_given(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}"):
        CodeInterpreter(**arguments)


_PROGRAM = """
import asyncio, json, os, sys
from pathlib import Path
from pydantic_ai_scripts import Script
from interpstack_pydantic_ai import CodeInterpreter, answers, questions
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import ModelMessagesTypeAdapter

folder, step = Path(sys.argv[1]), sys.argv[2]
log = folder / "log"

def note(text):
    with log.open("a") as file:
        file.write(text + "\\n")

CODE = "const a = await tools.look({n: 1}); const b = await tools.pay({n: a}); a + ' ' + b"
script = Script("let start = 10", CODE)
agent = Agent(
    script.model,
    output_type=[str, DeferredToolRequests],
    capabilities=[CodeInterpreter(store=str(folder / "evals.db"), lease_seconds=1)],
)

@agent.tool_plain
def look(n: int) -> int:
    note(f"look {n}")
    return n + 1

@agent.tool_plain(requires_approval=True)
def pay(n: int) -> str:
    note(f"pay {n}")
    if step == "killed in a call":
        os.kill(os.getpid(), 9)
    return f"paid {n}"

async def main():
    if step == "pause":
        run = await agent.run("go", conversation_id="c")
        (folder / "history").write_bytes(run.all_messages_json())
        (question,) = questions(run.output)
        given = answers(run.output, {question.id: True})
        (folder / "given").write_text(json.dumps([given.approvals, given.metadata]))
        os.kill(os.getpid(), 9)
    from pydantic_ai import DeferredToolResults
    approvals, metadata = json.loads((folder / "given").read_text())
    script.steps.clear()
    if step == "use":
        script.steps.append("start + a")
        history, results, prompt = None, None, "go"
    else:
        history = ModelMessagesTypeAdapter.validate_json((folder / "history").read_bytes())
        results = DeferredToolResults(approvals=approvals, metadata=metadata)
        prompt = None
    run = await agent.run(
        prompt, message_history=history, deferred_tool_results=results, conversation_id="c"
    )
    print(run.output)

asyncio.run(main())
"""


def _ran(folder: Path, step: str) -> subprocess.CompletedProcess[str]:
    support = Path(__file__).parents[2] / "support"
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), step],
        env={**os.environ, "PYTHONPATH": str(support)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_process_killed_while_an_eval_waits_loses_nothing(tmp_path: Path) -> None:
    assert _ran(tmp_path, "pause").returncode == -signal.SIGKILL
    assert (tmp_path / "log").read_text() == "look 1\n"
    # A call that was at work is made again: nobody knows whether it had its effect.
    assert _ran(tmp_path, "killed in a call").returncode == -signal.SIGKILL
    done = _ran(tmp_path, "resume")
    assert done.stdout == "<result>2 paid 2</result>\n", done.stderr
    assert (tmp_path / "log").read_text() == "look 1\npay 2\npay 2\n"
    # Whoever resumes it once more gets the answer, and nothing is done.
    assert _ran(tmp_path, "resume").stdout == "<result>2 paid 2</result>\n"
    assert (tmp_path / "log").read_text() == "look 1\npay 2\npay 2\n"
    assert _ran(tmp_path, "use").stdout == "<result>12</result>\n"


async def test_an_approval_passes_through_json(interpreter: Make) -> None:
    def pay() -> str:
        return "paid"

    agent = agent_of(
        "await tools.pay()", interpreter=interpreter(interrupt_on=["pay"]), tools=[pay]
    )
    run = await agent.run("go")
    (question,) = questions(run.output)
    given = answers(run.output, {question.id: True})
    given.metadata = json.loads(json.dumps(given.metadata))
    history = ModelMessagesTypeAdapter.validate_json(run.all_messages_json())
    run = await agent.run(message_history=history, deferred_tool_results=given)
    assert run.output == "<result>paid</result>"
