"""One running eval, as the calls of its code need to know it."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from graph_tasks import Notes, cell_context, tool_request
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.types import Command

from interpstack import GuestError, GuestException, Outcome
from interpstack_durable.api import ReplayDivergence
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.eval_call import EvalCall, running_eval
from interpstack_langchain.rules import approvals
from interpstack_langchain.rules.call_limits import CallLimits
from interpstack_langchain.tools.native_calls import NativeCall, running_native_call


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return to


@tool
def mail(to: str) -> str:
    """Write somebody."""
    return to


@tool("eval")
def run(code: str) -> str:
    """Run code."""
    return code


class Store:
    """Notes what an eval does with its store."""

    def __init__(self, *, thread: str = "t", names_thread: bool = True) -> None:
        self.thread, self.names_thread = thread, names_thread
        self.commands: list[Any] = []
        self.log: list[Any] = []

    def run_inside(self, outer: Any) -> None:
        self.log.append(("inside", outer))

    def returned(self, number: int, command: Any) -> None:
        self.commands.append((number, command))

    def scope_of(self, journal: Any, number: int) -> Any:
        return SimpleNamespace(configurable={"scope": f"call:{number}"})

    async def ended(self) -> None:
        self.log.append("ended")

    async def left(self, error: GuestError) -> None:
        self.log.append(error.message)


def eval_of(request: Any = None, **options: Any) -> EvalCall:
    request = request or tool_request(tools=[pay, mail, run])
    return EvalCall(request, SiblingCalls.of(request), None, **options)  # type: ignore[arg-type]


def message_of(call_id: str, message: str) -> Any:
    """The same call, in another message."""
    request = tool_request(call_id)
    request.state["messages"] = [AIMessage("", id=message, tool_calls=[request.tool_call])]
    return request


# -- names of calls ------------------------------------------------------------------------


def test_ids_of_calls_are_the_same_in_every_run_and_differ_by_message() -> None:
    context = cell_context(3)
    first, again = eval_of(), eval_of()
    assert first.call_id(context) == again.call_id(context)
    assert first.call_id(context) != first.call_id(cell_context(4))
    assert first.call_id(context) != eval_of(message_of("a", "m2")).call_id(context)
    assert first.event_id(context) == "a:3"


def test_calls_of_a_copied_thread_have_ids_of_their_own() -> None:
    """A copy has the same messages, and a provider would take its payments for the original's."""

    def call_id(thread: str, **options: bool) -> str:
        return eval_of(store=Store(thread=thread, **options)).call_id(cell_context(3))

    assert call_id("t") == call_id("t") != call_id("copy")
    assert call_id("t", names_thread=False) == call_id("copy", names_thread=False)


def test_an_eval_of_an_unknown_message_has_no_place() -> None:
    request = tool_request()
    request.state["messages"] = []
    assert eval_of(request).place == ""


def test_a_cell_in_the_background_keeps_the_name_and_place_of_its_first_eval() -> None:
    cell = SimpleNamespace(name="first", place="there")
    found = eval_of(cell=cell)
    assert (found.id, found.name, found.place) == ("a", "first", "there")


# -- evals inside evals --------------------------------------------------------------------


def test_an_eval_that_code_of_another_calls_is_inside_it() -> None:
    outer = eval_of(tool_request("o", "outer"), store=Store())
    tokens = running_eval.set(outer), running_native_call.set(NativeCall("i"))
    try:
        inner = eval_of(tool_request("i", "inner"), store=Store())
        beside = eval_of(tool_request("b", "beside"), store=Store())
    finally:
        running_eval.reset(tokens[0])
        running_native_call.reset(tokens[1])
    assert (inner.outer, list(inner.around)) == (outer, ["outer"])
    assert inner.graph == outer.graph
    assert inner.store is not None
    assert inner.store.log == [("inside", outer.store)]  # type: ignore[attr-defined]
    assert (beside.outer, beside.inside) == (None, None), "another call is traced here"


# -- calls ---------------------------------------------------------------------------------


def test_without_approvals_and_a_journal_a_call_is_made_as_code_made_it() -> None:
    given = {"to": "Ann"}
    assert eval_of().call_for(pay, given, cell_context()) == (pay, given)


def decided(**decision: Any) -> Any:
    """A call of code, by a decision on it that the journal has."""
    notes = Notes()
    context = cell_context(1, journal=notes)
    call: Any = {"name": "pay", "args": {"to": "Ann"}}
    notes.values["decision 1"] = {"digest": approvals._digest(call), "shown": "pay", **decision}
    return eval_of().call_for(pay, {"to": "Ann"}, context)


def test_a_decision_is_used_in_place_of_the_call() -> None:
    assert decided(type="approve") == (pay, {"to": "Ann"})
    assert decided(type="respond", message="paid already") == "paid already"
    assert decided(type="edit", name="pay", args={"to": "Bo"}) == (pay, {"to": "Bo"})
    tool_, args = decided(type="edit", name="mail", args={"to": "Bo"})
    assert (tool_.name, args) == ("mail", {"to": "Bo"})
    with pytest.raises(GuestException, match="a reviewer rejected this call of pay: no money"):
        decided(type="reject", message="no money")


def test_a_decision_on_another_call_makes_none() -> None:
    with pytest.raises(ReplayDivergence, match="the decision on pay cannot be used for pay"):
        decided(type="approve", digest="of another call")


@pytest.mark.parametrize("name", ["gone", "eval"])
def test_a_reviewer_can_only_name_other_tools_of_the_agent(name: str) -> None:
    with pytest.raises(GuestException, match=f"named the tool '{name}'; the agent has: mail, pay"):
        decided(type="edit", name=name, args={})


def test_a_call_has_a_scope_where_the_eval_has_a_journal() -> None:
    context = cell_context(5, journal=Notes())
    assert eval_of().scope_of(context) == {}
    assert eval_of(store=Store()).scope_of(cell_context(5)) == {}
    assert eval_of(store=Store()).scope_of(context) == {"scope": "call:5"}


def test_state_updates_go_to_the_journal_if_there_is_one() -> None:
    command: Command[Any] = Command(update={"n": 1})
    plain, stored = eval_of(), eval_of(store=Store())
    for one in (plain, stored):
        one.returned(cell_context(2), command)
        assert one.commands == [(2, command)]
    assert stored.commands is stored.store.commands  # type: ignore[union-attr]


# -- progress ------------------------------------------------------------------------------


def test_a_graph_without_listeners_is_sent_nothing() -> None:
    def empty(event: Any) -> None:
        pass

    assert eval_of(tool_request(stream_writer=empty)).progress.send is None
    events: list[Any] = []
    eval_of(tool_request(stream_writer=events.append)).progress.emit({"phase": "start"})
    assert events == [{"eval_id": "a", "phase": "start"}]


# -- the end -------------------------------------------------------------------------------

FAILED = Outcome(error=GuestError("ToolError", "no money", data={"tool": "tools.pay"}))


async def test_an_eval_that_ended_needs_its_record_no_more() -> None:
    for outcome in (Outcome(text="1"), FAILED):
        store = Store()
        await eval_of(store=store).leave(outcome)
        assert store.log[1:] == ["ended"]


async def test_a_limit_that_ends_the_turn_leaves_the_eval_and_its_record() -> None:
    store = Store()
    found = eval_of(store=store)
    found.limits = CallLimits((), (), None, "a", {"a": Counter()}, {})
    found.limits.exceeded = RuntimeError("at most 3 calls")
    with pytest.raises(RuntimeError, match="at most 3 calls"):
        await found.leave(FAILED)
    assert store.log[1:] == ["no money"]


async def test_without_a_store_there_is_nothing_to_forget() -> None:
    await eval_of().leave(Outcome(text="1"))
    assert eval_of().failure(FAILED) is None
