"""Questions of runs as interrupts of a graph."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from interpstack_langchain.workflows.by_models.questions import ask
from interpstack_workflows.api import WorkflowRecord

_RECORD = WorkflowRecord(id="run_1", name="w")


def asked(open_now: list[dict[str, Any]]) -> Any:
    async def node(state: dict[str, Any]) -> dict[str, Any]:
        found: list[Any] = []
        fault = ""
        while not found or not found[-1]:
            answers, fault = ask(_RECORD, open_now, fault)
            found.append(answers)
        return {"found": found}

    graph: Any = StateGraph(dict)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(checkpointer=InMemorySaver())


async def test_a_question_with_half_of_a_surrogate_pair_is_stored_as_it_is_shown() -> None:
    options = {"choices": ["no", "a\ud83d"]}
    graph = asked([{"id": "a", "kind": "ask", "question": "\ud83d?", "options": options}])
    config = {"configurable": {"thread_id": "t"}}
    (pause,) = (await graph.ainvoke({}, config))["__interrupt__"]
    (stored,) = graph.get_state(config).interrupts
    assert pause.value["questions"] == stored.value["questions"]
    (shown,) = stored.value["questions"]
    assert shown["question"] == r"\ud83d?"
    assert shown["options"] == {"choices": ["no", r"a\ud83d"]}
    done = await graph.ainvoke(Command(resume={"answers": {"a": r"a\ud83d"}}), config)
    assert done["found"] == [{"a": "a\ud83d"}]


async def test_answers_are_taken_by_the_question_that_they_name() -> None:
    open_now = [{"id": "a", "kind": "ask", "question": "?"}]
    graph, config = asked(open_now), {"configurable": {"thread_id": "t"}}
    first = await graph.ainvoke({}, config)
    (pause,) = first["__interrupt__"]
    assert pause.value == {
        "type": "workflow_questions",
        "run": "run_1",
        "workflow": "w",
        "questions": open_now,
        "expected": "resume with {'answers': {id: answer}}, an answer for each question by its id",
    }
    for wrong, why in (
        ("yes", "the answer had another form, and was passed over: 'yes'"),
        (
            {"answers": "yes"},
            "the answer had another form, and was passed over: {'answers': 'yes'}",
        ),
        ({"answers": {}}, "the answer had another form, and was passed over: {'answers': {}}"),
        ({"a": 1}, "the answer had another form, and was passed over: {'a': 1}"),
        ({"answers": {"b": 1}}, "there is no question 'b'"),
    ):
        again = await graph.ainvoke(Command(resume=wrong), config)
        assert again["__interrupt__"][0].value["fault"] == why
    done = await graph.ainvoke(Command(resume={"answers": {"a": 1, "b": 2}}), config)
    assert done["found"] == [{}, {}, {}, {}, {}, {"a": 1}]


async def test_an_answer_to_a_question_that_is_no_longer_open_is_no_fault() -> None:
    graph, config = (
        asked([{"id": "a", "kind": "ask", "question": "?"}]),
        {"configurable": {"thread_id": "t"}},
    )
    await graph.ainvoke({}, config)
    late = Command(resume={"answers": {f"root/sig_{'0' * 24}": 1}})
    again = await graph.ainvoke(late, config)
    assert "fault" not in again["__interrupt__"][0].value
