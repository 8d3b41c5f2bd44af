"""Budgets of a turn: shared by its evals and by the subagents they dispatch."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import Field

from interpstack import ConfigurationError
from interpstack_accounts import accounts
from interpstack_accounts.api import Account, Budget
from interpstack_langchain import CodeInterpreterMiddleware

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

OVER = '<error type="BudgetExceeded">'

EACH = """
await (async () => {
  let made = 0, caught = null
  await Promise.all(Array.from({length: 4}, async () => {
    try { await tools.note({text: "x"}); made++ } catch (e) { caught = e }
  }))
  return [made, caught && [caught.name, caught.budget, caught.limit, caught.left, caught.tool]]
})()
"""


def usage(tokens: int) -> dict[str, int]:
    return {"input_tokens": tokens - 1, "output_tokens": 1, "total_tokens": tokens}


@pytest.fixture
def noted() -> list[str]:
    return []


@pytest.fixture
def note(noted: list[str]) -> Any:
    @tool
    def note(text: str) -> int:
        """Note something."""
        noted.append(text)
        return len(noted)

    return note


# -- evals of one turn ---------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("budget", "kind"),
    [
        (Budget(requests=6), "requests"),
        (Budget(tool_requests={"note": 6}), "tool_requests:note"),
        (Budget(tool_requests={"tools.note": 6}), "tool_requests:tools.note"),
    ],
)
async def test_evals_of_a_turn_share_a_budget(
    talk: Any, note: Any, noted: list[str], budget: Budget, kind: str
) -> None:
    chat = talk(tools=[note], ptc=["note"], budget=budget)
    refused = f'["BudgetExceeded", "{kind}", 6, 0, "tools.note"]'
    answers = await chat.run(EACH, EACH)
    assert answers == ["<result>[4, null]</result>", f"<result>[2, {refused}]</result>"]
    assert len(noted) == 6
    assert (await chat.run("await tools.note({text: 'y'})")) == ["<result>7</result>"]


@both
async def test_evals_of_one_message_share_it_and_modes_do_not_matter(
    talk: Any, note: Any, noted: list[str], evals: Any
) -> None:
    for mode in ("thread", "turn", "call"):
        noted.clear()
        chat = talk(tools=[note], ptc=["note"], mode=mode, budget=Budget(requests=5))
        code = "await Promise.allSettled([1, 2, 3].map(() => tools.note({text: 'x'}))); 'end'"
        answers = await chat.run(evals(code, code), "await tools.note({text: 'x'})", thread=mode)
        assert answers[:2] == ["<result>end</result>"] * 2
        assert answers[2].startswith(f"{OVER}the budget of this turn is used up")
        assert len(noted) == 5


@both
async def test_time_and_output_of_a_turn(talk: Any) -> None:
    chat = talk(budget=Budget(cpu_seconds=0.3), timeout=None)
    endless, after = await chat.run("for (;;);", "1")
    assert endless.startswith(
        '<error type="BudgetExceeded">the budget of this turn is used up: 0.3'
    )
    assert after.startswith(OVER)
    assert await chat.run("1") == ["<result>1</result>"]

    chat = talk(budget=Budget(wall_seconds=0.5))
    answers = await chat.run("await new Promise(r => setTimeout(r, 60000))", "1")
    assert ["0.5 of 0.5 seconds" in one for one in answers] == [True, True]

    chat = talk(budget=Budget(output_bytes=10))
    answers = await chat.run("'x'.repeat(8)", "'y'.repeat(8)", "1")
    assert answers[0] == "<result>xxxxxxxx</result>"
    assert answers[1].endswith("<result>yy… [truncated 6 chars]</result>")
    assert answers[1].startswith(
        "<notice>the budget of this turn is used up: 10 of 10 bytes of output"
    )
    assert answers[2].startswith(OVER)


# -- tokens and cost -----------------------------------------------------------------------


def model_message(code: str, **fields: Any) -> AIMessage:
    call = {"name": "eval", "args": {"code": code}, "id": f"call {code}", "type": "tool_call"}
    return AIMessage("", tool_calls=[call], **fields)


@both
@pytest.mark.parametrize(
    ("budget", "fields", "options"),
    [
        (Budget(tokens=25), {"usage_metadata": usage(10)}, {}),
        (Budget(cost=2.5), {"response_metadata": {"cost": 1.0}}, {}),
        (Budget(cost=2.5), {"response_metadata": {"token_usage": {"cost": 1.0}}}, {}),
        (Budget(cost=2.5), {}, {"cost_of": lambda message: 1}),
    ],
)
async def test_what_the_agents_own_model_uses_counts(
    talk: Any, note: Any, noted: list[str], budget: Budget, fields: Any, options: Any
) -> None:
    chat = talk(tools=[note], ptc=["note"], budget=budget, **options)
    call = "await tools.note({text: 'x'})"
    steps = [model_message(f"{call}  // {n}", **fields) for n in range(4)]
    answers = await chat.run(*steps)
    assert answers[:2] == ["<result>1</result>", "<result>2</result>"]
    spent = ("30 of 25 tokens", "40 of 25 tokens") if budget.tokens else ("3 of 2.5", "4 of 2.5")
    for answer, amount in zip(answers[2:], spent, strict=True):
        assert answer.startswith(f"{OVER}the budget of this turn is used up: {amount}")
    assert len(noted) == 2
    assert chat.model.seen[-1][-1].type == "tool", "the model itself is not stopped"


@pytest.mark.parametrize("reported", [None, {"input_tokens": -5, "output_tokens": float("nan")}])
async def test_odd_reports_count_nothing(talk: Any, reported: Any) -> None:
    message = model_message("1")
    message.usage_metadata = reported
    message.response_metadata = {"cost": "much"}
    chat = talk(budget=Budget(tokens=1, cost=1), checkpointer=None)
    assert await chat.run(message) == ["<result>1</result>"]


async def test_a_cost_that_cannot_be_counted_is_no_cost_of_nothing(talk: Any) -> None:
    chat = talk(budget=Budget(cost=1), cost_of=lambda message: message.nothing)
    with pytest.raises(AttributeError, match="nothing"):
        await chat.run("1")


@pytest.mark.parametrize("name", ["Note", "tools.Note", "tool.note", "no-te"])
async def test_a_limit_of_a_misspelt_tool_is_refused_before_code_runs(
    talk: Any, note: Any, noted: list[str], name: str
) -> None:
    chat = talk(tools=[note], ptc=["note"], budget=Budget(tool_requests={name: 1}))
    for _ in range(2):
        with pytest.raises(ConfigurationError, match=r"did you mean '(tools\.)?note'"):
            await chat.run("await tools.note({text: 'a'})")
    assert noted == []


async def test_a_limit_that_limits_nothing_is_in_the_log_once(
    talk: Any, note: Any, caplog: pytest.LogCaptureFixture
) -> None:
    limits = {"send": 1, "note": 5, "tools.note": 5, "mcp.files.read": 1}
    chat = talk(tools=[note], ptc=["note"], budget=Budget(tool_requests=limits))
    assert await chat.run("await tools.note({text: 'a'})") == ["<result>1</result>"]
    await chat.run("1")
    warned = [one.getMessage() for one in caplog.records if "tool_requests" in one.getMessage()]
    assert [text.split(",")[0] for text in warned] == ["budget: tool_requests names 'send'"]


@pytest.mark.parametrize("cost", ["5", None, -1, True, float("nan"), float("inf")])
async def test_a_wrong_cost_names_the_function_that_returned_it(talk: Any, cost: Any) -> None:
    chat = talk(budget=Budget(cost=1), cost_of=lambda message: cost)
    with pytest.raises(TypeError, match=f"cost_of returns a number of at least 0; got {cost!r}"):
        await chat.run("1")


async def _cost_later(message: Any) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"budget": 5}, TypeError, "budget takes a Budget or None; got 5"),
        ({"budget": Budget(), "cost_of": 5}, TypeError, "cost_of takes a function"),
        ({"budget": Budget(), "cost_of": _cost_later}, TypeError, "that is not async; got <func"),
        ({"cost_of": len}, ConfigurationError, "cost_of needs a budget"),
    ],
)
def test_wrong_arguments(options: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        CodeInterpreterMiddleware(**options)


# -- subagents -----------------------------------------------------------------------------


class Replying(BaseChatModel):
    """Runs one piece of code for each answer it has not got, then says which answers it got."""

    codes: list[str]
    tokens: int = 0

    @property
    def _llm_type(self) -> str:
        return "replying"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Replying:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        answer = [m.text for m in messages if isinstance(m, ToolMessage)]
        reported: Any = {"usage_metadata": usage(self.tokens)} if self.tokens else {}
        if len(answer) < len(self.codes):
            message = model_message(self.codes[len(answer)], **reported)
        else:
            message = AIMessage("|".join(answer), **reported)
        return ChatResult(generations=[ChatGeneration(message=message)])


class Crew:
    """A deep agent with a subagent `kid`, each with an interpreter."""

    def __init__(
        self, codes: list[str], kid: Any, note: Any, own: Any, inner: Any, **options: Any
    ) -> None:
        tokens, kid_tokens = options.pop("tokens", (0, 0))
        self.outer = CodeInterpreterMiddleware(ptc=["note"], **own)
        self.inner = CodeInterpreterMiddleware(ptc=["note"], **inner)
        self.agent = create_deep_agent(
            Replying(codes=codes, tokens=tokens),
            tools=[note],
            middleware=[self.outer],
            subagents=[
                {
                    "name": "kid",
                    "description": "helps",
                    "system_prompt": "",
                    "model": Replying(codes=kid, tokens=kid_tokens)
                    if isinstance(kid, list)
                    else kid,
                    "tools": [note],
                    "middleware": [self.inner],
                }
            ],
            **options,
        )

    async def run(self, use_async: bool, given: Any = None) -> list[str]:
        given = given or {"messages": [("user", "go")]}
        config = {"configurable": {"thread_id": "t"}}
        if use_async:
            state = await self.agent.ainvoke(given, config)
        else:
            state = await asyncio.to_thread(self.agent.invoke, given, config)
        return [m.text for m in state["messages"] if isinstance(m, ToolMessage)]

    def close(self) -> None:
        self.outer.stack.close()
        self.inner.stack.close()


@pytest.fixture
def crew() -> Any:
    made: list[Crew] = []

    def make(*args: Any, **kwargs: Any) -> Crew:
        made.append(Crew(*args, **kwargs))
        return made[-1]

    yield make
    for one in made:
        one.close()


DISPATCH = 'await task({description: "go", subagentType: "kid"})'
THREE = "await Promise.allSettled([1, 2, 3].map(() => tools.note({text: 'x'}))); 'end'"


@both
@pytest.mark.parametrize(
    ("inner", "made"),
    [(None, "xxxkkk"), (Budget(), "xxxkkk"), (Budget(requests=2), "xxxkkx")],
)
async def test_a_subagents_evals_draw_on_the_dispatching_turn(
    crew: Any, note: Any, noted: list[str], use_async: bool, inner: Budget | None, made: str
) -> None:
    # 3 calls and the dispatch, then those of the subagent, then what is left
    own = {"budget": Budget(requests=7)}
    kid = THREE.replace("'x'", "'k'")
    team = crew([f"{THREE}; {DISPATCH}", THREE], [kid], note, own, {"budget": inner})
    answers = await team.run(use_async)
    assert answers == ["<result>&lt;result&gt;end&lt;/result&gt;</result>", "<result>end</result>"]
    assert "".join(noted) == made


@both
async def test_dispatches_are_counted(crew: Any, note: Any, use_async: bool) -> None:
    code = f"""
    const all = await Promise.allSettled(Array.from({{length: 4}}, async () => {DISPATCH}));
    JSON.stringify(all.map(one => one.reason?.budget ?? one.status))
    """
    team = crew([code], [], note, {"budget": Budget(dispatches=2)}, {})
    (answer,) = await team.run(use_async)
    found = json.loads(answer.removeprefix("<result>").removesuffix("</result>"))
    assert sorted(found) == ["dispatches", "dispatches", "fulfilled", "fulfilled"]


@both
@pytest.mark.parametrize("inner", [None, Budget(tokens=10**6)])
async def test_tokens_of_subagents_count_once(
    crew: Any, note: Any, noted: list[str], use_async: bool, inner: Budget | None
) -> None:
    """A dispatch is two model calls of 100 tokens; the agent's own models report 1 each."""
    code = f"try {{ {DISPATCH}; 'ran' }} catch (e) {{ e.name }}"
    # 1 + 200 + 1 + 200 + 1 are used when the third eval begins, and it needs something left
    for budget, third in ((403, OVER), (404, "<result>1</result>")):
        own = {"budget": Budget(tokens=budget)}
        codes = [f"{code} //1", f"{code} //2", "1"]
        team = crew(codes, ["1"], note, own, {"budget": inner}, tokens=(1, 100))
        answers = await team.run(use_async)
        assert answers[:2] == ["<result>ran</result>"] * 2
        assert answers[2].startswith(third)


@both
async def test_code_can_catch_that_tokens_are_used_up(
    crew: Any, note: Any, noted: list[str], use_async: bool
) -> None:
    code = f"""
    {DISPATCH};
    const seen = [];
    for (const call of [async () => {DISPATCH}, () => tools.note({{text: 'x'}})])
      try {{ await call() }} catch (e) {{ seen.push(e.name, e.budget, e.tool) }}
    seen.join(" ")
    """
    team = crew([code], [], note, {"budget": Budget(tokens=50)}, {}, tokens=(1, 60))
    assert await team.run(use_async) == [
        "<result>BudgetExceeded tokens task BudgetExceeded tokens tools.note</result>"
    ]
    assert noted == []


class Endless(Replying):
    """Goes on calling a tool, whatever the answers are; it is called `calls` times at most."""

    calls: int = 40
    made: list[int] = Field(default_factory=list)

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        self.made.append(self.tokens)
        if len(self.made) > self.calls:
            return super()._generate(messages, *args, **kwargs)
        call = {"name": "note", "args": {"text": "k"}, "id": f"k{len(self.made)}"}
        reported: Any = {"usage_metadata": usage(self.tokens), "response_metadata": {"cost": 1.0}}
        message = AIMessage("", tool_calls=[call], **reported)
        return ChatResult(generations=[ChatGeneration(message=message)])


@both
@pytest.mark.parametrize("inner", [None, Budget(), Budget(tokens=10)])
@pytest.mark.parametrize(
    ("budget", "limit"),
    [(Budget(tokens=300), "300 of 300 tokens"), (Budget(cost=3), "3 of 3 cost")],
    ids=["tokens", "cost"],
)
async def test_a_running_subagent_is_stopped_when_nothing_is_left(
    crew: Any,
    note: Any,
    noted: list[str],
    use_async: bool,
    inner: Budget | None,
    budget: Budget,
    limit: str,
) -> None:
    code = f"try {{ {DISPATCH} }} catch (e) {{ [e.name, e.tool, e.message].join('; ') }}"
    kid = Endless(codes=[], tokens=100)
    team = crew([code, "1"], kid, note, {"budget": budget}, {"budget": inner})
    first, second = await team.run(use_async)
    why = f"the budget of this turn is used up: {limit}"
    assert first == f"<result>BudgetExceeded; task; {why}</result>"
    assert second == f"{OVER}{why}</error>", "what the subagent spent counts"
    assert (len(kid.made), len(noted)) == (3, 3)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("how", ["on the loop", "awaited", "in a thread"])
async def test_a_tool_may_call_a_model_in_any_way(talk: Any, how: str) -> None:
    """What a model uses is recorded meanwhile, also where the loop of the journal stands still."""

    @tool
    async def think() -> str:
        """Think."""
        model = Replying(codes=[], tokens=10)
        if how == "on the loop":
            return str(model.invoke("x").text)
        if how == "awaited":
            return str((await model.ainvoke("x")).text)
        return str((await asyncio.to_thread(model.invoke, "x")).text)

    saver = InMemorySaver()
    chat = talk(tools=[think], ptc=["think"], budget=Budget(tokens=25), checkpointer=saver)
    code = "let n = 0; try { for (;; n++) await tools.think({}) } catch (e) { [n, e.name].join() }"
    assert await chat.run(code) == ["<result>3,BudgetExceeded</result>"]
    written = [saver.serde.loads_typed(w[2]) for ws in saver.writes.values() for w in ws.values()]
    spent = [one["spent"]["drawn"] for one in written if isinstance(one, dict) and "of" in one]
    assert max(drawn["tokens"] for drawn in spent) == 30


@both
async def test_an_agents_own_model_is_not_stopped_by_an_account_of_the_host(
    talk: Any, note: Any, noted: list[str]
) -> None:
    account = Account(Budget(tokens=5), name="the user")
    chat = talk(tools=[note], ptc=["note"], budget=Budget())
    with account.use():
        answers = await chat.run(model_message("1", usage_metadata=usage(10)))
    assert answers == [f"{OVER}the budget of the user is used up: 10 of 5 tokens</error>"]


@both
async def test_a_cost_function_of_either_interpreter_is_used(
    crew: Any, note: Any, use_async: bool
) -> None:
    for own, inner in (
        ({"budget": Budget(cost=3), "cost_of": lambda m: 1}, {"budget": Budget()}),
        ({"budget": Budget(cost=3)}, {"budget": Budget(), "cost_of": lambda m: 2}),
    ):
        team = crew([DISPATCH, "1"], ["1"], note, own, inner)
        answers = await team.run(use_async)
        assert answers[1].startswith(OVER)
        assert "of 3 cost<" in answers[1]


# -- the host's own accounts ---------------------------------------------------------------


@both
async def test_turns_draw_on_an_account_of_the_host(
    talk: Any, note: Any, noted: list[str], use_async: bool
) -> None:
    account = Account(Budget(requests=5), name="the user")
    for options in ({}, {"budget": Budget(requests=4)}):
        chat = talk(tools=[note], ptc=["note"], **options)
        with account.use():
            assert await chat.run(THREE) == ["<result>end</result>"]
    assert (len(noted), account.used("requests")) == (5, 5)


# -- evals that are run again --------------------------------------------------------------

PAUSES = """
await Promise.all([1, 2].map(() => tools.note({text: "a"})));
await tools.pay({});
let seen = 'no';
try { await tools.note({text: "b"}); await tools.note({text: "c"}) } catch (e) { seen = e.message }
seen
"""


@both
@pytest.mark.parametrize("process", ["same", "another"])
@pytest.mark.parametrize("store", [None, InMemoryStore()], ids=["replayed", "suspended"])
async def test_an_eval_that_is_run_again_draws_once(
    talk: Any, note: Any, noted: list[str], process: str, store: Any, use_async: bool
) -> None:
    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    saver = InMemorySaver()
    options = {
        "tools": [note, pay],
        "ptc": ["note", "pay"],
        "interrupt_on": {"pay": True},
        "checkpointer": saver,
        "budget": Budget(requests=4),
        "agent_options": {"store": store},
    }
    first = talk(**options)
    await first.turn(PAUSES)
    assert noted == ["a", "a"]
    resumed = first
    if process == "another":
        resumed = talk(**options)
        resumed.say([])
    given = Command(resume={"decisions": [{"type": "approve"}]})
    config = {"configurable": {"thread_id": "t"}}
    if use_async:
        state = await resumed.agent.ainvoke(given, config)
    else:
        state = await asyncio.to_thread(resumed.agent.invoke, given, config)
    answer = [m.text for m in state["messages"] if isinstance(m, ToolMessage)]
    assert answer == ["<result>the budget of this turn is used up: 4 of 4 requests</result>"]
    assert noted == ["a", "a", "b"]


# -- turns that another process goes on with -----------------------------------------------

FIRST = "await tools.note({text: 'x'}); 'x'.repeat(60)"
SECOND = "await tools.pay({}); 'second'"
THIRD = """
try {
  await tools.note({text: 'x'});
  await new Promise(r => setTimeout(r, 1));
  'made'
} catch (e) { e.budget }
"""
#: Seconds that each call of `note` takes, on the clock of accounts.
NOTING = 400
KINDS = {
    "requests": (Budget(requests=2), "<result>requests</result>"),
    "tool": (Budget(tool_requests={"note": 1}), "<result>tool_requests:note</result>"),
    "tokens": (Budget(tokens=25), "of 25 tokens"),
    "cost": (Budget(cost=2.5), "of 2.5 cost"),
    "output": (Budget(output_bytes=66), "66 of 66 bytes of output"),
    "wall": (Budget(wall_seconds=1.5 * NOTING), "600 of 600 seconds"),
}


class SlowClock:
    """Time as accounts see it: it passes while something is noted, and only then."""

    def __init__(self, noted: list[str]) -> None:
        self.noted = noted

    def monotonic(self) -> float:
        return float(NOTING * len(self.noted))


class Breaks(AgentMiddleware[Any, Any, Any]):
    """Fails where the model is called for the third time."""

    calls = 0

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self._count()
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        self._count()
        return await handler(request)

    def _count(self) -> None:
        self.calls += 1
        if self.calls == 3:
            raise ConnectionError("died")


@both
@pytest.mark.parametrize("left", ["at a pause", "between evals"])
@pytest.mark.parametrize(("budget", "limit"), KINDS.values(), ids=KINDS.keys())
async def test_what_was_drawn_counts_where_another_process_goes_on(
    talk: Any,
    note: Any,
    noted: list[str],
    left: str,
    budget: Budget,
    limit: str,
    use_async: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(accounts, "time", SlowClock(noted))

    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    steps = [
        model_message(code, usage_metadata=usage(10), response_metadata={"cost": 1.0})
        for code in (FIRST, SECOND, THIRD)
    ]
    pauses = left == "at a pause"
    options = {
        "tools": [note, pay],
        "ptc": ["note", "pay"],
        "interrupt_on": {"pay": pauses},
        "checkpointer": InMemorySaver(),
        "budget": budget,
    }
    first = talk(**options, before=[] if pauses else [Breaks()])
    config = {"configurable": {"thread_id": "t"}}
    given: Any = None
    if pauses:
        assert (await first.turn(*steps))["__interrupt__"]
        given = Command(resume={"decisions": [{"type": "approve"}]})
    else:
        with pytest.raises(ConnectionError):
            await first.turn(*steps)
    other = talk(**options)
    other.say(steps[2:])
    if use_async:
        state = await other.agent.ainvoke(given, config)
    else:
        state = await asyncio.to_thread(other.agent.invoke, given, config)
    answers = [m.text for m in state["messages"] if isinstance(m, ToolMessage)]
    assert "x" * 60 in answers[0]
    assert answers[1] == "<result>second</result>"
    assert limit in answers[2]
    assert await other.run("1") == ["<result>1</result>"], "the next turn has a budget of its own"


@both
async def test_what_subagents_used_before_a_pause_counts_in_another_process(
    crew: Any, note: Any, noted: list[str], use_async: bool
) -> None:
    code = f"""
    {DISPATCH};
    await tools.note({{text: "a"}});
    try {{ {DISPATCH}; {DISPATCH}; 'ran' }} catch (e) {{ e.budget }}
    """
    # a dispatch is 120, so that there is room for two
    own = {"budget": Budget(tokens=200), "interrupt_on": {"note": True}}
    saver = InMemorySaver()

    def make() -> Crew:
        made: Crew = crew([code], ["1"], note, own, {}, tokens=(1, 60), checkpointer=saver)
        return made

    assert await make().run(use_async) == []
    given = Command(resume={"decisions": [{"type": "approve"}]})
    assert await make().run(use_async, given) == ["<result>tokens</result>"]
    assert noted == ["a"]
