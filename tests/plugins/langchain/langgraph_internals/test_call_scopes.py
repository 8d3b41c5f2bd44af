"""What `call_scopes.py` needs of LangGraph's internals, each with what breaks without it."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import pytest
from langgraph._internal import _constants as names
from langgraph._internal._scratchpad import PregelScratchpad
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt

from interpstack_langchain.langgraph_internals.call_scopes import (
    Checkpoint,
    answers_given,
    checkpoint_key,
    entered,
    has_checkpointer,
    interrupts_shown,
    pending_calls,
    scope,
    stored_interrupts,
    take_plain_answer,
)

CONFIG = {"configurable": {"thread_id": "t"}}


class State(TypedDict):
    seen: Annotated[list[Any], lambda left, right: [*left, *right]]


def graph_of(node: Any, saver: Any = None) -> Any:
    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(checkpointer=saver)


def in_task(look: Any, saver: Any = "memory", **options: Any) -> Any:
    """What `look` returns for the configuration of a running task."""
    seen: list[Any] = []

    def node(state: State) -> State:
        seen.append(look(get_config()))
        return {"seen": []}

    graph = graph_of(node, InMemorySaver() if saver == "memory" else saver)
    graph.invoke({"seen": []}, CONFIG, **options)
    return seen[0]


def test_a_checkpoint_tells_the_tool_calls_of_the_next_step() -> None:
    call = {"name": "eval", "args": {"code": "1"}, "id": "a", "type": "tool_call"}
    graph = StateGraph(State)
    graph.add_node("model", lambda state: {"seen": []})
    graph.add_node("tools", lambda given: {"seen": []})
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: [Send("tools", [call])], ["tools"])
    saver = InMemorySaver()
    graph.compile(checkpointer=saver).invoke({"seen": []}, CONFIG)
    found = [pending_calls(saved.checkpoint) for saved in saver.list(CONFIG)]
    assert [calls for calls in found if calls] == [[call]], "a replay finds no evals"


def test_a_graph_without_a_checkpointer_has_none_although_the_graph_around_it_has_one() -> None:
    """Its tasks have the outer one in their configuration, but it stores nothing of theirs."""
    seen: list[Any] = []

    def node(state: State) -> State:
        seen.append((Checkpoint.of(get_config()), has_checkpointer()))
        return {"seen": []}

    for saver in (False, None):
        graph_of(graph_of(node, saver), InMemorySaver()).invoke({"seen": []}, CONFIG)
    (without, has_none), (lent, has_one) = seen
    assert (without, has_none, has_one) == (None, False, True)
    assert lent is not None


# -- what a task's configuration has -------------------------------------------------------

KEYS = {
    "CONFIG_KEY_CHECKPOINT_MAP": "the journal does not know which checkpoint the step started from",
    "CONFIG_KEY_CHECKPOINT_NS": "interrupts of inner calls get ids that are not theirs",
    "CONFIG_KEY_CHECKPOINTER": "no eval has a journal: nothing is durable",
    "CONFIG_KEY_SCRATCHPAD": "inner calls share one count of interrupts, and take others' answers",
    "CONFIG_KEY_SEND": "answers of inner calls are written as answers of the whole eval",
}


@pytest.mark.parametrize(("key", "broken"), KEYS.items())
def test_a_task_has_what_scopes_need(key: str, broken: str) -> None:
    assert in_task(lambda config: getattr(names, key) in config["configurable"]), broken


def test_a_checkpoint_is_found_and_is_the_one_the_step_started_from() -> None:
    saver = InMemorySaver()
    found = in_task(Checkpoint.of, saver)
    assert found is not None, "no eval has a journal"
    stored = [saved.checkpoint["id"] for saved in saver.list(CONFIG)]
    at = found.config["configurable"]["checkpoint_id"]
    assert at == stored[1], "entries are written where no resume looks for them"
    assert found.config == found.root
    assert not found.resuming
    assert not found.stored_at_exit


def test_durability_is_reported() -> None:
    at_exit = in_task(Checkpoint.of, durability="exit")
    assert at_exit.stored_at_exit, "evals wait for a checkpoint that comes only after them"
    assert not in_task(Checkpoint.of, durability="sync").stored_at_exit


def test_without_a_checkpointer_there_is_nothing_to_find() -> None:
    assert in_task(Checkpoint.of, None) is None


def test_a_subgraph_has_its_own_checkpoint_and_the_root_of_the_outermost() -> None:
    seen: list[Any] = []

    def look(state: State) -> State:
        seen.append(Checkpoint.of(get_config()))
        return {"seen": []}

    graph_of(graph_of(look), InMemorySaver()).invoke({"seen": []}, CONFIG)
    (found,) = seen
    assert found.root["configurable"]["checkpoint_ns"] == ""
    assert found.config["configurable"]["checkpoint_ns"].startswith("node:")
    assert checkpoint_key(found.config) != checkpoint_key(found.root)


# -- writes of a checkpoint ----------------------------------------------------------------


def paused_graph(look: Any) -> tuple[Any, InMemorySaver]:
    """A graph that waits for an answer; `look` sees its task first in each run."""
    saver = InMemorySaver()

    def node(state: State) -> State:
        look(get_config())
        return {"seen": [interrupt("?")]}

    graph = graph_of(node, saver)
    graph.invoke({"seen": []}, CONFIG)
    return graph, saver


def test_writes_of_tasks_of_our_own_come_back_and_change_nothing() -> None:
    runs: list[Any] = []

    def look(config: Any) -> None:
        at = Checkpoint.of(config)
        assert at is not None
        if not runs:
            at.saver.put_writes(at.config, [("interpreter_ledger", {"a": 1})], "a task of ours")
        runs.append((at.resuming, at.writes(at.saver.get_tuple(at.config))))

    graph, _ = paused_graph(look)
    state = graph.get_state(CONFIG)
    assert [task.name for task in state.tasks] == ["node"]
    result = graph.invoke(Command(resume="yes"), CONFIG)
    assert result == {"seen": ["yes"]}, "a journal's entries reach the graph's state"
    assert runs[1][0], "a resumed eval does not read its journal, and does everything again"
    ours = [value for task, channel, value in runs[1][1] if channel == "interpreter_ledger"]
    assert ours == [{"a": 1}], "a resumed eval does not find its journal"


def test_a_plain_answer_is_seen_taken_and_cleared() -> None:
    seen: list[Any] = []

    def look(config: Any) -> None:
        at = Checkpoint.of(config)
        assert at is not None
        seen.append((take_plain_answer(config), take_plain_answer(config)))
        at.saver.put_writes(at.root, *at.answered())

    graph, saver = paused_graph(look)
    graph.invoke(Command(resume="yes"), CONFIG)
    graph.invoke(None, CONFIG)
    assert seen[1] == ("yes", None), "an answer could be taken by two inner calls"
    assert seen[2] == (None, None), "an answer that was used answers the next question"
    assert graph.get_state(CONFIG).interrupts, "an answer that the eval took went elsewhere, too"
    assert [value for _, channel, value in saver.get_tuple(CONFIG).pending_writes or []] != []


def test_a_run_knows_the_interrupts_that_were_stored_when_it_began() -> None:
    """Without them, an answer could be taken for a question that came after it was given."""
    seen: list[Any] = []

    def look(config: Any) -> None:
        seen.append(interrupts_shown(config))
        at = Checkpoint.of(config)
        assert at is not None
        if at.resuming:
            later = (Interrupt("?", id="later"),)
            at.saver.put_writes(at.config, [(names.INTERRUPT, later)], "another task")
            stored = stored_interrupts(at.saver.get_tuple(at.config).pending_writes)
            assert stored == {asked.id, "later"}
            seen.append(interrupts_shown(config))

    graph, _ = paused_graph(look)
    (asked,) = graph.get_state(CONFIG).interrupts
    graph.invoke(Command(resume="yes"), CONFIG)
    assert [list(one) for one in seen] == [[], [asked.id], [asked.id]]


def test_a_subgraph_knows_the_interrupts_of_the_outermost_graph() -> None:
    """The interrupt of a subgraph is stored there first; a person sees the outermost graph."""
    seen: list[Any] = []

    def inner(state: State) -> State:
        seen.append(interrupts_shown(get_config()))
        return {"seen": [interrupt("?")]}

    saver = InMemorySaver()
    graph = graph_of(graph_of(inner), saver)
    graph.invoke({"seen": []}, CONFIG)
    (asked,) = graph.get_state(CONFIG).interrupts
    graph.invoke(None, CONFIG)
    for _, graph_id, checkpoint in list(saver.writes):
        if graph_id == "":  # the run ended before the outermost graph stored it
            saver.writes["t", "", checkpoint].clear()
    graph.invoke(None, CONFIG)
    assert [list(one) for one in seen] == [[], [asked.id], []]


def test_answers_by_id_are_reported() -> None:
    seen: list[Any] = []
    graph, _ = paused_graph(lambda config: seen.append(answers_given(config)))
    (asked,) = graph.get_state(CONFIG).interrupts
    graph.invoke(Command(resume={asked.id: "yes"}), CONFIG)
    assert seen == [{}, {asked.id: "yes"}], "answers by id reach no inner call"


# -- scopes --------------------------------------------------------------------------------


def asked_in(config: Any, inner: Any, count: int = 1) -> list[Any]:
    """What interrupts in a scope return; the last may be the interrupt that was raised."""
    found: list[Any] = []
    with entered(config, inner):
        try:
            for number in range(count):
                found.append(interrupt(f"question {number}"))
        except GraphInterrupt as raised:
            found += raised.args[0]
    return found


def test_an_interrupt_in_a_scope_has_the_id_that_the_scope_says() -> None:
    def look(config: Any) -> Any:
        return [(s.id, asked_in(config, s)[0].id) for s in (scope(config, n, []) for n in "ab")]

    (a, asked_a), (b, asked_b) = in_task(look)
    assert a == asked_a, "answers by id do not find the inner call"
    assert b == asked_b
    assert a != b, "inner calls that wait at once cannot be distinguished"


def test_a_later_interrupt_of_a_scope_has_an_id_of_its_own() -> None:
    def look(config: Any) -> Any:
        inner = scope(config, "a", ["first"])
        return inner.id, asked_in(config, inner, 2)

    expected, (first, second) = in_task(look)
    assert first == "first", "answers from earlier runs do not reach the inner call"
    assert isinstance(second, Interrupt)
    assert second.id == expected, "the second question of an inner call cannot be answered"


def test_a_scope_takes_its_own_answer_alone() -> None:
    def look(config: Any) -> Any:
        given = {scope(config, "a", []).id: "mine"}
        return [asked_in(config, scope(config, n, [], given))[0] for n in "ab"]

    mine, other = in_task(look)
    assert mine == "mine"
    assert isinstance(other, Interrupt), "an inner call takes the answer of another one"


def test_answers_in_a_scope_are_not_written_as_the_tasks_own() -> None:
    runs: list[Any] = []

    def look(config: Any) -> None:
        runs.append(asked_in(config, scope(config, "a", ["inner"])))

    graph, saver = paused_graph(look)
    channels = [channel for _, channel, _ in saver.get_tuple(CONFIG).pending_writes or []]
    assert names.RESUME not in channels, "the answer of an inner call answers the eval itself"
    assert graph.invoke(Command(resume="yes"), CONFIG) == {"seen": ["yes"]}


def test_code_in_a_scope_reads_what_the_scope_holds_back() -> None:
    def look(config: Any) -> Any:
        held: list[Any] = []
        inner = scope(config, "a", [], {}, held.extend, lambda: held)
        with entered(config, inner):
            conf = get_config()["configurable"]
            conf[names.CONFIG_KEY_SEND]([("seen", ["held"])])
            within = conf[names.CONFIG_KEY_READ]("seen", True)
        return within, config["configurable"][names.CONFIG_KEY_READ]("seen", True)

    within, outside = in_task(look)
    assert within[-1:] == ["held"], "a file that code wrote is not there for its next call"
    assert outside == within[:-1], "what a call wrote is in the task before the eval has ended"


def test_subgraphs_of_scopes_keep_their_own_checkpoints() -> None:
    def ask(state: State) -> State:
        return {"seen": [interrupt("?")]}

    def node(state: State) -> State:
        config, answers = get_config(), []
        waiting: list[Interrupt] = []
        for name in "ab":
            with entered(config, scope(config, name, [], answers_given(config))):
                try:
                    answers += inner.invoke({"seen": []})["seen"]
                except GraphInterrupt as raised:
                    waiting += raised.args[0]
        if waiting:
            raise GraphInterrupt(tuple(waiting))
        return {"seen": answers}

    inner = graph_of(ask)
    graph = graph_of(node, InMemorySaver())
    graph.invoke({"seen": []}, CONFIG)
    asked = graph.get_state(CONFIG).interrupts
    assert len({one.id for one in asked}) == 2, "subagents that wait cannot be distinguished"
    given = {one.id: number for number, one in enumerate(asked)}
    assert graph.invoke(Command(resume=given), CONFIG) == {"seen": [0, 1]}


def test_the_scratchpad_has_the_fields_that_scopes_fill() -> None:
    expected = {
        "step",
        "stop",
        "call_counter",
        "interrupt_counter",
        "get_null_resume",
        "resume",
        "subgraph_counter",
    }
    fields = set(PregelScratchpad.__dataclass_fields__)
    assert fields == expected, "a new field means something that inner calls may share now"
