"""Branches of a thread, runs of one checkpoint by several hands, and evals that keep no record.

What each does to effects is what `docs/explanation/durability.md` says.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from scripted import Script, answers

from interpstack import ConfigurationError
from interpstack_langchain import CodeInterpreterMiddleware

CONFIG: dict[str, Any] = {"configurable": {"thread_id": "t"}}
BUYING = "const seen = await tools.look({n: 1}); const paid = await tools.pay({n: 2}); [seen, paid]"
BOUGHT = '<result>["look 1", "pay 2"]</result>'


class Shop:
    """Agents on one checkpointer, and what their tools did: name, number and key of each call."""

    def __init__(self, saver: Any) -> None:
        self.saver = saver
        self.store: Any = None
        self.done: list[tuple[str, int, str]] = []
        self.made: list[CodeInterpreterMiddleware] = []

    def agent(self, **options: Any) -> Any:
        """Another process, as far as the interpreter knows."""
        names = ["look", "pay", "ask", "slow"]
        self.made.append(CodeInterpreterMiddleware(ptc=names, **options))
        tools = [self._tool(name) for name in names]
        middleware, store = [self.made[-1]], self.store
        return create_agent(
            Script(), tools, middleware=middleware, checkpointer=self.saver, store=store
        )

    def shopper(self, *, same: bool, **options: Any) -> Callable[[], Any]:
        """Gives the agent for each next run: one and the same, or each time another."""
        options = {"interrupt_on": {"pay": True}, **options}
        one = self.agent(**options)
        return lambda: one if same else self.agent(**options)

    def _tool(self, name: str) -> Any:
        def act(n: int, runtime: ToolRuntime) -> str:
            """Act."""
            self.done.append((name, n, str(runtime.tool_call_id)))
            if name == "slow":
                time.sleep(0.5)
            return f"{name} {n}" if name != "ask" else str(interrupt(n))

        return StructuredTool.from_function(act, name=name)

    def take(self) -> list[tuple[str, int, str]]:
        """What was done since the last time."""
        done, self.done = self.done, []
        return done

    @property
    def paid(self) -> list[int]:
        return [n for name, n, _ in self.done if name == "pay"]


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = Shop(InMemorySaver())
    yield shop
    for one in shop.made:
        one.close()


def turn(agent: Any, *steps: Any) -> Any:
    return agent.invoke({"messages": [("user", json.dumps(steps))]}, CONFIG)


def decide(kind: str = "approve") -> Command[Any]:
    return Command(resume={"decisions": [{"type": kind}]})


def waiting(shop: Shop) -> tuple[Any, Any]:
    """An agent, and the checkpoint at which an eval of it waits for an approval."""
    agent = shop.agent(interrupt_on={"pay": True})
    turn(agent, BUYING)
    assert [name for name, *_ in shop.take()] == ["look"]
    return agent, agent.get_state(CONFIG)


def approving(paused: Any) -> Command[Any]:
    """The approval of all questions of a checkpoint, by id."""
    return Command(resume={asked.id: decide().resume for asked in paused.interrupts})


def results(*values: Any) -> list[str]:
    return [f"<result>{value}</result>" for value in values]


def said(state: Any) -> list[str]:
    return [message.text for message in state["messages"]]


# -- branches ------------------------------------------------------------------------------


def test_a_step_that_is_run_anew_from_before_it_makes_its_calls_with_the_same_keys(
    shop: Shop,
) -> None:
    agent = shop.agent()
    turn(agent, "let total = 1", f"total += 1; {BUYING}", "total")
    first = shop.take()
    steps = [one for one in agent.get_state_history(CONFIG) if one.next == ("tools",)]
    for made in (agent, shop.agent()):
        again = made.invoke(None, steps[1].config)
        assert answers(again)[1:] == [BOUGHT, "<result>2</result>"], "variables are of that time"
        assert shop.take() == first, "an idempotency key tells that nothing new is done"


def test_a_copy_of_a_thread_makes_its_calls_under_ids_of_its_own(shop: Shop) -> None:
    agent, _ = waiting(shop)
    copied: dict[str, Any] = {"configurable": {"thread_id": "copy"}}
    shop.saver.storage["copy"] = deepcopy(shop.saver.storage["t"])
    for (_, *place), writes in list(shop.saver.writes.items()):
        shop.saver.writes["copy", *place] = dict(writes)
    for (_, *place), blob in list(shop.saver.blobs.items()):
        shop.saver.blobs["copy", *place] = blob
    ids = {}
    for config in (CONFIG, copied):
        state = agent.invoke(None, config)
        (asked,) = state["__interrupt__"]
        agent.invoke(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}), config)
        ids[config["configurable"]["thread_id"]] = {key for *_, key in shop.take()}
    assert len(ids["t"]) == 1
    assert len(ids["copy"]) == 2, "the record belongs to the original"
    assert not ids["t"] & ids["copy"]


def test_a_branch_from_after_a_step_does_not_repeat_its_calls(shop: Shop) -> None:
    agent = shop.agent()
    turn(agent, BUYING, "paid + '!'")
    assert len(shop.take()) == 2
    history = agent.get_state_history(CONFIG)
    after = next(one for one in history if one.next == ("model",) and BOUGHT in said(one.values))
    again = shop.agent().invoke(None, after.config)
    assert answers(again)[-1] == "<result>pay 2!</result>"
    assert shop.done == []


def test_an_approval_is_for_its_own_branch(shop: Shop) -> None:
    """`update_state` begins the step anew on another checkpoint: the pause stays on the old one."""
    agent, paused = waiting(shop)
    agent.update_state(CONFIG, {"messages": [HumanMessage("a note")]})
    on_new = agent.invoke(decide(), CONFIG)
    assert [name for name, *_ in shop.done] == ["look"], "asked anew, and not paid"
    (asked,) = on_new["__interrupt__"]
    looked = shop.take()
    on_old = shop.agent(interrupt_on={"pay": True}).invoke(decide(), paused.config)
    assert BOUGHT in said(on_old)
    assert shop.paid == [2], "the old branch goes on where it stood"
    (paid,) = shop.take()
    # The branch of the update is a checkpoint of its own, and its question is still open.
    history = agent.get_state_history(CONFIG)
    branch = next(one for one in history if asked.id in {each.id for each in one.interrupts})
    rejected = agent.invoke(decide("reject"), branch.config)
    assert shop.done == []
    assert BOUGHT not in said(rejected)
    assert looked[0][2].rpartition(":")[0] == paid[2].rpartition(":")[0], "one call of the model"


# -- one checkpoint, several hands ---------------------------------------------------------


@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "plain"])
@pytest.mark.parametrize("second", ["approve", "reject"])
def test_a_checkpoint_that_is_resumed_twice_pays_once(shop: Shop, second: str, by_id: bool) -> None:
    agent, paused = waiting(shop)
    (asked,) = paused.interrupts

    def given(kind: str) -> Command[Any]:
        return Command(resume={asked.id: decide(kind).resume}) if by_id else decide(kind)

    assert BOUGHT in said(agent.invoke(given("approve"), paused.config))
    assert [(name, n) for name, n, _ in shop.take()] == [("pay", 2)]
    for made in (agent, shop.agent(interrupt_on={"pay": True})):
        if second == "approve":
            assert BOUGHT in said(made.invoke(given(second), paused.config))
        else:  # the decision that was recorded holds, and whoever sent the other one learns it
            with pytest.raises(ValueError, match="already answered, and the first answer is final"):
                made.invoke(given(second), paused.config)
        assert shop.done == []


@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "plain"])
async def test_an_eval_that_is_resumed_by_two_at_once_in_a_process_pays_once(
    shop: Shop, by_id: bool
) -> None:
    agent, paused = await asyncio.to_thread(waiting, shop)
    (asked,) = paused.interrupts
    given = Command(resume={asked.id: decide().resume}) if by_id else decide()
    runs = [asyncio.to_thread(agent.invoke, given, CONFIG) for _ in range(3)]
    ends = await asyncio.gather(*runs)
    assert [(name, n) for name, n, _ in shop.done] == [("pay", 2)]
    assert all(BOUGHT in said(end) for end in ends)


# -- the variables of each run ---------------------------------------------------------------

same_or_not = pytest.mark.parametrize("same", [True, False], ids=["one agent", "many agents"])
COUNTING = "n += 1; await tools.pay({n}); n"
#: Three evals of one message; the second one waits for an approval.
THREE = ["n += 1; n", "n += 10; await tools.pay({n}); n", "n += 100; n"]


@same_or_not
@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
def test_each_run_of_a_checkpoint_starts_from_the_variables_before_the_eval(
    shop: Shop, mode: str, same: bool
) -> None:
    agent = shop.shopper(same=same, mode=mode)
    code = f"var n = 0; {COUNTING}" if mode == "call" else COUNTING
    steps = ["var n = 0", code, "typeof n == 'number' ? n += 10 : 'none'"]
    turn(agent(), *steps)
    paused = agent().get_state(CONFIG)
    after = 11 if mode != "call" else "none"
    for _ in range(3):
        ended = agent().invoke(approving(paused), paused.config)
        assert answers(ended) == results(0, 1, after)
        assert shop.paid == [1]
    later = 11 if mode == "thread" else "none"
    assert answers(turn(agent(), "typeof n == 'number' ? n : 'none'")) == results(later)


@same_or_not
@pytest.mark.parametrize("moved_on", [False, True], ids=["as it was", "updated"])
def test_each_run_of_a_message_runs_its_evals_one_after_another(
    shop: Shop, same: bool, moved_on: bool
) -> None:
    agent = shop.shopper(same=same)
    turn(agent(), "var n = 0")
    turn(agent(), THREE, "n += 1000; n")
    paused = agent().get_state(CONFIG)
    if moved_on:  # then LangGraph also runs the first eval again, which had ended
        agent().update_state(CONFIG, {"messages": [HumanMessage("a note")]})
    for _ in range(3):
        ended = agent().invoke(approving(paused), paused.config)
        assert answers(ended) == results(1, 11, 111, 1111)
        assert shop.paid == [11]
        assert answers(turn(agent(), "n += 0.5; n")) == results(1111.5)


@same_or_not
def test_evals_of_a_message_that_wait_one_after_another_count_once(shop: Shop, same: bool) -> None:
    agent = shop.shopper(same=same)
    turn(agent(), "var n = 0")
    turn(agent(), [COUNTING, COUNTING, "n"])
    pauses = [agent().get_state(CONFIG)]
    for _ in range(2):
        agent().invoke(approving(pauses[-1]), pauses[-1].config)
        pauses.append(agent().get_state(CONFIG))
    for paused in (pauses[1], pauses[0], pauses[1]):
        ended = agent().invoke(approving(paused), paused.config)
        while ended.get("__interrupt__"):
            following = agent().get_state(CONFIG)
            ended = agent().invoke(approving(following), following.config)
        assert answers(ended) == results(1, 2, 2)
        assert shop.paid == [1, 2]


@same_or_not
def test_an_eval_behind_a_call_that_never_ran_starts_from_before_it_each_time(
    shop: Shop, same: bool
) -> None:
    agent = shop.shopper(same=same)
    turn(agent(), "var n = 0")
    turn(agent(), [None, "n += 1; n"])
    steps = [one for one in agent().get_state_history(CONFIG) if one.next == ("tools", "tools")]
    for _ in range(2):
        assert answers(agent().invoke(None, steps[0].config))[1:] == results(1)


@pytest.mark.parametrize("suspends", [False, True], ids=["replayed", "from the middle"])
async def test_two_runs_at_once_leave_a_sound_state_in_both_branches(
    shop: Shop, suspends: bool
) -> None:
    shop.store = InMemoryStore() if suspends else None
    agent = shop.shopper(same=False)
    turn(agent(), "var n = 0; var all = []")
    turn(agent(), "n += 1; all.push(Math.random()); await tools.pay({n}); n", "n += 10; n")
    paused = agent().get_state(CONFIG)
    runs = [asyncio.to_thread(agent().invoke, approving(paused), CONFIG) for _ in range(2)]
    for ended in await asyncio.gather(*runs):
        assert answers(ended) == results(1, 11)
    assert shop.paid == [1]
    ends = [one for one in agent().get_state_history(CONFIG) if not one.next][:2]
    for end in ends:
        asked = {"messages": [("user", json.dumps(["[n, all.length]"]))]}
        assert answers(agent().invoke(asked, end.config)) == results("[11, 1]")


# -- without a record ----------------------------------------------------------------------


def test_without_a_record_a_question_runs_the_eval_again_from_its_start(shop: Shop) -> None:
    code = "n += 1; await tools.look({n}); [await tools.ask({n: 1}), await tools.ask({n: 2})]"
    turn(shop.agent(durable=False), "let n = 0", code)
    for answer in ("one", "two"):
        state = shop.agent(durable=False).invoke(Command(resume=answer), CONFIG)
    assert answers(state)[-1] == '<result>["one", "two"]</result>'
    looked = [call for call in shop.take() if call[0] == "look"]
    assert len(looked) == 3
    assert len(set(looked)) == 1, "the same input and the same key each time"
    assert answers(turn(shop.agent(durable=False), "n")) == ["<result>1</result>"]


@pytest.mark.parametrize("beside", ["ask", "slow"])
def test_without_a_record_no_question_is_asked_beside_other_calls(shop: Shop, beside: str) -> None:
    """Which call a later answer is for could not be known: their order may change."""
    code = f"await Promise.all([tools.{beside}({{n: 1}}), tools.ask({{n: 2}})])"
    with pytest.raises(ConfigurationError, match=r"ask interrupted the graph while other calls"):
        turn(shop.agent(durable=False), code)
    assert not shop.agent(durable=False).get_state(CONFIG).interrupts


def test_with_a_record_each_answer_finds_its_call_however_the_calls_are_ordered(
    shop: Shop,
) -> None:
    turn(shop.agent(), "await Promise.all([tools.ask({n: 1}), tools.ask({n: 2})])")
    asked = shop.agent().get_state(CONFIG).interrupts
    given = {one.id: f"answer {one.value}" for one in asked}
    state = shop.agent().invoke(Command(resume=given), CONFIG)
    assert answers(state)[-1] == '<result>["answer 1", "answer 2"]</result>'


def test_the_eval_itself_waits_for_an_approval_without_a_record(shop: Shop) -> None:
    from langchain.agents.middleware import HumanInTheLoopMiddleware

    def made() -> Any:
        shop.made.append(CodeInterpreterMiddleware(ptc=[shop._tool("pay")], durable=False))
        asking = HumanInTheLoopMiddleware({"eval": True})
        middleware: Sequence[Any] = [asking, shop.made[-1]]
        return create_agent(Script(), [], middleware=middleware, checkpointer=shop.saver)

    turn(made(), "await tools.pay({n: 3})")
    assert shop.done == []
    assert answers(made().invoke(decide(), CONFIG)) == ["<result>pay 3</result>"]
    made().invoke(None, CONFIG)
    assert shop.paid == [3]
