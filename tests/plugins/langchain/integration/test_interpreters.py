"""Several interpreters in one agent, ready stacks, limits, and variables of other interpreters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Annotated, Any

import attrs
import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from scripted import Script as _Script

from interpstack import ConfigurationError, InterpreterStack, Limits, bridge
from interpstack_langchain import CodeInterpreterMiddleware

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
ALL = ["langchain", "accounts", "persistence", "durable", "console", "ptc", "subagents", "skills"]


def Script(tool: str = "eval") -> _Script:  # noqa: N802 - a model
    """A model that runs code with a tool of this name."""
    return _Script(tool=tool)


def answer_of(result: Any) -> list[str]:
    return [m.text for m in result["messages"] if isinstance(m, ToolMessage)]


# -- two interpreters ----------------------------------------------------------------------


@tool
def ask(what: str) -> str:
    """Ask."""
    return str(interrupt(what))


class Two:
    """An agent with an interpreter for JavaScript and one for Python."""

    def __init__(self, talk: Any, **options: Any) -> None:
        self.python = CodeInterpreterMiddleware(
            engine="monty", tool_name="python", ptc=[ask], mode=options.get("mode")
        )
        after = {"after": [self.python], "ptc": [ask, *options.pop("ptc", ())]}
        self.chat = talk(**after, **options)


@pytest.fixture
def two(talk: Any) -> Iterator[Any]:
    made: list[Two] = []

    def make(**options: Any) -> Two:
        made.append(Two(talk, **options))
        return made[-1]

    yield make
    for one in made:
        one.python.stack.close()


@both
@pytest.mark.parametrize("mode", ["thread", "turn"])
async def test_each_interpreter_has_its_own_variables(
    two: Any, evals: Any, use_async: bool, mode: str
) -> None:
    agent = two(mode=mode)
    steps = (
        evals("var x = 1"),
        evals("x = 'p'", name="python"),
        evals("x + 1"),
        evals("x + 'q'", name="python"),
    )
    answers = await agent.chat.run(*steps)
    assert answers[2:] == ["<result>2</result>", "<result>pq</result>"]
    if mode == "thread":
        for middleware in (agent.chat.middleware, agent.python):
            middleware._interpreter.evals.sessions._known.clear()  # as in another process
        later = await agent.chat.run(evals("x + 2"), evals("x + 'r'", name="python"))
        assert later == ["<result>3</result>", "<result>pr</result>"]


async def test_their_states_are_channels_of_their_own(two: Any, evals: Any) -> None:
    agent = two()
    await agent.chat.run(evals("var x = 1"), evals("x = 1", name="python"))
    values = agent.chat.agent.get_state({"configurable": {"thread_id": "t"}}).values
    names = {"interpreter_record", "interpreter_record_python", "interpreter_turn_python"}
    assert names <= set(values)
    assert [m.name for m in (agent.chat.middleware, agent.python)] == [
        "CodeInterpreterMiddleware",
        "CodeInterpreterMiddleware_python",
    ]


@both
async def test_both_can_be_asked_and_resumed(two: Any, evals: Any, use_async: bool) -> None:
    agent = two()
    config = {"configurable": {"thread_id": "t"}}
    first = evals("var a = await tools.ask({what: 'js'})")
    second = evals("b = await tools.ask(what='py')", name="python")
    asked = await agent.chat.turn(first, second)
    assert asked["__interrupt__"][0].value == "js"
    asked = await agent.chat.agent.ainvoke(Command(resume="one"), config)
    assert asked["__interrupt__"][0].value == "py"
    result = await agent.chat.agent.ainvoke(Command(resume="two"), config)
    assert "__interrupt__" not in result
    later = await agent.chat.run(evals("a"), evals("b", name="python"))
    assert later == ["<result>one</result>", "<result>two</result>"]


async def test_code_of_one_may_run_code_of_the_other(two: Any, evals: Any) -> None:
    """What the inner one leaves goes with the outer one's answer, and survives its pauses."""
    agent = two(ptc=["python"])
    config = {"configurable": {"thread_id": "t"}}
    code = (
        "await tools.python({code: 'n = 1'}); await tools.python({code: 'n += 1'});"
        "await tools.ask({what: '?'}); await tools.python({code: 'n += 1\\nn'})"
    )
    paused = await agent.chat.turn(code)
    assert paused["__interrupt__"][0].value == "?"
    agent.python._interpreter.evals.sessions._known.clear()  # as in another process
    result = await agent.chat.agent.ainvoke(Command(resume="go"), config)
    assert answer_of(result) == ["<result>&lt;result&gt;3&lt;/result&gt;</result>"]
    agent.python._interpreter.evals.sessions._known.clear()
    assert await agent.chat.run(evals("n", name="python")) == ["<result>3</result>"]


class Nested:
    """An agent whose code runs code of another interpreter, and what its tools did."""

    def __init__(self, talk: Any, **options: Any) -> None:
        self.done: list[int] = []
        self.options = {"interrupt_on": {"pay": {"allowed_decisions": ["approve", "edit"]}}}
        self.options |= options
        self.saver = InMemorySaver()
        self.talk = talk
        self.begin()

    def begin(self) -> None:
        """Begin with another process."""
        self.inner = CodeInterpreterMiddleware(
            tool_name="inner", ptc=[*self.tools(), ask], **self.options
        )
        tools = [*self.tools(), ask, "inner"]
        self.chat = self.talk(
            ptc=tools, after=[self.inner], checkpointer=self.saver, **self.options
        )

    def tools(self) -> list[Any]:
        @tool
        def mail(n: int) -> int:
            """Mail."""
            self.done.append(n)
            return n

        @tool
        def pay(n: int) -> int:
            """Pay."""
            self.done.append(n)
            return n

        @tool
        def flaky() -> str:
            """Fail the first two times."""
            self.done.append(0)
            if self.done.count(0) < 3:
                raise ConnectionError("no route")
            return "ok"

        return [mail, pay, flaky]

    async def send(self, given: Any) -> Any:
        agent, config = self.chat.agent, {"configurable": {"thread_id": "t"}}
        if self.chat.use_async:
            return await agent.ainvoke(given, config)
        return await asyncio.to_thread(agent.invoke, given, config)


@pytest.fixture
def nested(talk: Any) -> Iterator[Any]:
    made: list[Nested] = []

    def make(**options: Any) -> Nested:
        made.append(Nested(talk, **options))
        return made[-1]

    yield make
    for one in made:
        one.inner.stack.close()


def inside(code: str) -> str:
    """Code that runs code of the other interpreter."""
    return f"await tools.inner({{code: {json.dumps(code)}}});"


APPROVE = Command(resume={"decisions": [{"type": "approve"}]})


@both
@pytest.mark.parametrize("other", [False, True], ids=["same process", "other process"])
async def test_code_inside_code_is_not_run_again_from_its_start(
    nested: Any, use_async: bool, other: bool
) -> None:
    agent = nested()
    code = "var n = 1; await tools.mail({n: 1}); n += await tools.pay({n: 2}); "
    code += "await tools.mail({n: 3}); await tools.ask({what: '?'}); n += await tools.pay({n: 4});n"
    result = await agent.chat.turn(f"await tools.mail({{n: 5}});{inside(code)}")
    assert agent.done == [5, 1]
    for given in (APPROVE, Command(resume="go on"), APPROVE):
        assert "__interrupt__" in result
        if other:
            agent.inner.stack.close()
            agent.begin()
            agent.chat.say([])
        result = await agent.send(given)
    assert agent.done == [5, 1, 2, 3, 4]
    assert answer_of(result) == ["<result>&lt;result&gt;7&lt;/result&gt;</result>"]


WRONG = [[], [{"type": "no"}], [{"type": "reject"}]]


@both
async def test_a_wrong_decision_for_code_inside_code_is_reported_and_forgotten(
    nested: Any, use_async: bool
) -> None:
    agent = nested()
    (asked,) = (await agent.chat.turn(inside("await tools.mail({n: 1}); await tools.pay({n: 2})")))[
        "__interrupt__"
    ]
    for wrong in WRONG:
        for given in ({"decisions": wrong}, {asked.id: {"decisions": wrong}}):
            with pytest.raises(ValueError, match=r"decision|decided"):
                await agent.send(Command(resume=given))
            again = await agent.send(None)
            assert again["__interrupt__"] == [asked]
    assert agent.done == [1]
    await agent.send(APPROVE)
    assert agent.done == [1, 2]


@both
async def test_one_wrong_decision_of_several_leaves_the_others(
    nested: Any, use_async: bool
) -> None:
    agent = nested()
    code = inside("await tools.pay({n: 1})").replace("await", "", 1).rstrip(";")
    asked = (await agent.chat.turn(f"await Promise.all([tools.pay({{n: 2}}), {code}])"))[
        "__interrupt__"
    ]
    outer, inner = sorted(asked, key=lambda one: -one.value["action_requests"][0]["args"]["n"])
    right, wrong = {"decisions": [{"type": "approve"}]}, {"decisions": []}
    result = await agent.send(Command(resume={outer.id: right, inner.id: wrong}))
    (again,) = result["__interrupt__"]
    assert again.value["refused"] == [
        "give one decision for each action request, 1 in total; got 0"
    ]
    assert (await agent.send(None))["__interrupt__"] == [again]
    await agent.send(Command(resume={again.id: right}))
    assert agent.done == [2, 1]


@both
@pytest.mark.parametrize("tells", ["tell", "raise"])
async def test_a_retry_does_not_repeat_code_inside_code(
    nested: Any, use_async: bool, tells: str
) -> None:
    agent = nested(interrupt_on=None, tool_errors="raise")
    options = attrs.evolve(agent.inner.options, tool_errors=tells)
    inner = agent.inner._interpreter
    agent.inner._interpreter = attrs.evolve(inner, evals=attrs.evolve(inner.evals, options=options))
    failing = inside("await tools.mail({n: 2}); throw 1").replace("await", "", 1).rstrip(";")
    code = f"{inside('await tools.mail({n: 1})')} const all = [{failing}, tools.flaky()];"
    with pytest.raises(ConnectionError):
        await agent.chat.turn(f"{code} (await Promise.allSettled(all)).slice(0); await all[1]")
    with pytest.raises(ConnectionError):
        await agent.send(None)
    await agent.send(None)
    assert sorted(agent.done) == [0, 0, 0, 1, 2]


@both
async def test_code_can_call_interpreters_wherever_they_stand(
    two: Any, evals: Any, use_async: bool
) -> None:
    agent = two()
    with CodeInterpreterMiddleware(tool_name="third", ptc=["eval", "python"]) as third:
        agent.chat.agent = create_agent(
            agent.chat.model,
            tools=[],
            middleware=[agent.chat.middleware, third, agent.python],
            checkpointer=InMemorySaver(),
        )
        code = "[await tools.eval({code: '1'}), await tools.python({code: '2'})].join()"
        (answer,) = await agent.chat.run(evals(code, name="third"))
    assert "&lt;result&gt;1&lt;/result&gt;,&lt;result&gt;2&lt;/result&gt;" in answer


@both
async def test_code_cannot_call_itself_through_another_interpreter(
    two: Any, evals: Any, use_async: bool
) -> None:
    agent = two(ptc=["third"], wall_timeout=60)
    with CodeInterpreterMiddleware(tool_name="third", ptc=["eval"]) as third:
        agent.chat.agent = create_agent(
            agent.chat.model,
            tools=[],
            middleware=[third, agent.chat.middleware],
            checkpointer=InMemorySaver(),
        )
        code = "await tools.third({code: \"await tools.eval({code: '1'})\"})"
        (answer,) = await agent.chat.run(evals(code))
    assert "eval cannot be called from its own code" in answer


@both
async def test_an_interpreter_whose_middleware_is_missing_cannot_be_called(
    talk: Any, use_async: bool
) -> None:
    with CodeInterpreterMiddleware(tool_name="third") as third:
        (answer,) = await talk(ptc=third.tools).run("await tools.third({code: '1'})")
    assert "third cannot be called from code of eval: its middleware is not among" in answer


# -- limits, bridges, options --------------------------------------------------------------


@bridge("shop.price")
async def price(item: str) -> float:
    """The price."""
    return {"tea": 3.5}[item]


@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        ({"value_bytes": 100}, "await tools.ask({what: 'x'.repeat(200)})", "Error"),
        ({"timers": 1}, "setTimeout(() => {}, 1); setTimeout(() => {}, 1)", "at most 1 may be"),
        ({"console_chars": 10}, "console.log('x'.repeat(50)); 'y'.repeat(50)", "xxxxxxxxxx…"),
        ({"bridges": [price]}, "await shop.price({item: 'tea'})", "<result>3.5</result>"),
    ],
)
async def test_limits_and_bridges_hold(
    talk: Any, options: dict[str, Any], code: str, expected: str
) -> None:
    (answer,) = await talk(ptc=[ask], **options).run(code)
    assert expected in answer
    if "console_chars" in options:
        assert "y" * 50 in answer


def test_limits_reach_the_stack() -> None:
    given = {"value_bytes": 7, "timers": 8, "concurrency": 9, "console_chars": 10}
    with CodeInterpreterMiddleware(**given) as middleware:
        limits = middleware.stack.limits
        assert {name: getattr(limits, name) for name in given} == given
        assert limits.result_chars == 4000


@pytest.mark.parametrize("name", ["value_bytes", "timers", "concurrency", "console_chars"])
def test_limits_are_checked(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} takes a positive integer"):
        CodeInterpreterMiddleware(**{name: 0})


def test_options_are_the_engines() -> None:
    with pytest.raises(ConfigurationError, match="'quickjs' does not take these options"):
        CodeInterpreterMiddleware(options={"nope": 1})


# -- ready stacks --------------------------------------------------------------------------


@pytest.fixture
def ready() -> Iterator[InterpreterStack]:
    limits = Limits(cpu_seconds=3, result_chars=20, timers=3, memory_bytes=32 * 2**20)
    with InterpreterStack("quickjs", ALL, bridges=[price], limits=limits) as stack:
        yield stack


@both
async def test_a_ready_stack_is_used(talk: Any, ready: InterpreterStack, use_async: bool) -> None:
    chat = talk(stack=ready, ptc=[ask], engine="quickjs")
    assert chat.middleware.stack is ready
    answers = await chat.run("await shop.price({item: 'tea'})", "'x'.repeat(30)", "typeof console")
    assert answers[0] == "<result>3.5</result>"
    assert answers[1] == f"<result>{'x' * 20}… [truncated 10 chars]</result>"
    assert answers[2] == "<result>object</result>"
    prompt = str(chat.model.seen[0][0].text)
    assert "3 s of CPU time, 32 MiB of memory, 20 characters" in prompt
    assert "ask(" in prompt


async def test_two_agents_may_share_a_stack(talk: Any, ready: InterpreterStack) -> None:
    one, other = (talk(stack=ready, engine="quickjs") for _ in range(2))
    await one.run("var x = 1")
    await other.run("var x = 2")
    assert await one.run("x") == ["<result>1</result>"]
    await one.middleware.aclose()
    assert await other.run("x") == ["<result>2</result>"]
    assert ready.session("mine").eval_sync("1").text == "1"


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("engine", "v8", "engine"),
        ("plugins", ["console"], "plugins"),
        ("bridges", [price], "bridges"),
        ("options", {"a": 1}, "options"),
        ("capture_console", False, "plugins="),
        ("timeout", 1, "Limits(cpu_seconds=…)"),
        ("wall_timeout", None, "Limits(wall_seconds=…)"),
        ("memory_limit", 8 * 2**20, "Limits(memory_bytes=…)"),
        ("max_ptc_calls", 3, "Limits(requests=…)"),
        ("max_result_chars", 3, "Limits(result_chars=…)"),
        ("console_chars", 3, "Limits(console_chars=…)"),
        ("value_bytes", 3, "Limits(value_bytes=…)"),
        ("timers", 3, "Limits(timers=…)"),
        ("concurrency", 3, "Limits(concurrency=…)"),
    ],
)
def test_what_belongs_to_a_ready_stack_is_set_there(
    ready: InterpreterStack, name: str, value: Any, place: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        CodeInterpreterMiddleware(stack=ready, **{name: value})
    assert str(caught.value).startswith(f"{name} belongs to the stack when stack= is given")
    assert place in str(caught.value)


@pytest.mark.parametrize(
    ("left_out", "options"),
    [
        ("langchain", {}),
        ("persistence", {}),
        ("durable", {}),
        ("ptc", {"ptc": [ask]}),
    ],
)
def test_a_ready_stack_needs_the_plugins(left_out: str, options: dict[str, Any]) -> None:
    plugins = [name for name in ALL if name != left_out]
    with InterpreterStack("quickjs", plugins) as stack:
        with pytest.raises(ConfigurationError, match=f"the stack lacks the plugin '{left_out}'"):
            CodeInterpreterMiddleware(stack=stack, **options)
        if left_out == "durable":
            CodeInterpreterMiddleware(stack=stack, durable=False)


def test_a_stack_is_a_stack() -> None:
    with pytest.raises(TypeError, match="stack takes an InterpreterStack"):
        CodeInterpreterMiddleware(stack="quickjs")  # type: ignore[arg-type]


# -- variables of other interpreters -------------------------------------------------------

NOT_THERE = "stored by another interpreter and are not available"


def _newest(state: bytes, writes: Any) -> bytes:
    return [state, *writes][-1] or b""


class PeersState(AgentState[Any]):
    _quickjs_snapshot_payload: Annotated[bytes, DeltaChannel(_newest)]


class Peer(AgentMiddleware[Any, Any, Any]):
    """Stores what langchain-quickjs stores."""

    state_schema = PeersState
    payload = b"heap"

    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"_quickjs_snapshot_payload": self.payload}


def say(agent: Any, *codes: str) -> Any:
    given = {"messages": [("user", json.dumps(list(codes)) if codes else "hello")]}
    return agent.invoke(given, {"configurable": {"thread_id": "t"}})


@pytest.mark.parametrize("payload", [b"heap", b""])
def test_variables_of_the_peer_are_announced_once(payload: bytes) -> None:
    saver, peer = InMemorySaver(), Peer()
    peer.payload = payload
    before = create_agent(Script(), tools=[], middleware=[peer], checkpointer=saver)
    say(before)
    with CodeInterpreterMiddleware() as middleware:
        now = create_agent(Script(), tools=[], middleware=[middleware], checkpointer=saver)
        answers = answer_of(say(now, "var x = 1", "x"))
        assert (NOT_THERE in answers[0]) == bool(payload)
        assert answers[1] == "<result>1</result>"
    with CodeInterpreterMiddleware() as middleware:  # in another process
        again = create_agent(Script(), tools=[], middleware=[middleware], checkpointer=saver)
        assert answer_of(say(again, "x + 1"))[-1] == "<result>2</result>"


def test_variables_of_a_renamed_interpreter_are_announced_once() -> None:
    saver = InMemorySaver()
    with CodeInterpreterMiddleware() as first:
        agent = create_agent(Script(), tools=[], middleware=[first], checkpointer=saver)
        say(agent, "var x = 1")
    with CodeInterpreterMiddleware(tool_name="js") as second:
        agent = create_agent(Script("js"), tools=[], middleware=[second], checkpointer=saver)
        answers = answer_of(say(agent, "var y = 1", "y"))[1:]
        assert NOT_THERE in answers[0]
        assert answers[1] == "<result>1</result>"
        assert answer_of(say(agent, "y + 1"))[-1] == "<result>2</result>"


def test_an_interpreter_that_joins_another_announces_nothing() -> None:
    saver = InMemorySaver()
    with CodeInterpreterMiddleware() as first, CodeInterpreterMiddleware(tool_name="js") as second:
        agent = create_agent(Script(), tools=[], middleware=[first], checkpointer=saver)
        say(agent, "var x = 1")
        both_of_them = [first, second]
        agent = create_agent(Script("js"), tools=[], middleware=both_of_them, checkpointer=saver)
        assert answer_of(say(agent, "var y = 1"))[-1] == "<result>1</result>"


async def test_a_state_that_only_another_engine_can_restore(talk: Any, monkeypatch: Any) -> None:
    saver = InMemorySaver()
    first = talk(checkpointer=saver, engine="quickjs")
    monkeypatch.setattr("interpstack_persistence.payloads._MAX_VALUES", 0)
    await first.run("var x = 1")
    second = talk(checkpointer=saver, engine="monty")
    (answer,) = await second.run("y = 1")
    assert NOT_THERE in answer
    third = talk(checkpointer=saver, engine="monty")
    assert await third.run("y + 1") == ["<result>2</result>"]
