"""Subagents that pause: every one of them goes on, here or in another process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from interpstack_langchain import CodeInterpreterMiddleware

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])
processes = pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])

CONFIG = {"configurable": {"thread_id": "t"}}
NAMES = ("left", "middle", "right")
THREE = """
let tries = 0
const got = await Promise.all(['left', 'middle', 'right'].map(description => {
  tries += 1
  return task({description, subagentType: 'kid'}).catch(e => 'caught ' + e.message)
}));
`${got.join()}; ${tries}`
"""
ONE = (
    "let tries = 0; tries++; `${await task({description: 'left', subagentType: 'kid'})}; ${tries}`"
)


class Kids:
    """Subagents of each kind that ask before they do what they do."""

    def __init__(self, crews: Any) -> None:
        self.crews = crews
        self.effects: list[str] = []
        self.saver = InMemorySaver()

    def crew(self, kind: str, **options: Any) -> Any:
        """A new crew, as another process would make it: it shares the checkpointer alone."""
        kid = getattr(self, kind)()
        return self.crews(kid, agent_options={"checkpointer": self.saver}, **options)

    def _ask(self, name: str) -> str:
        answer = interrupt(f"{name}?")
        self.effects.append(f"{name} {answer}")
        return f"{name} {answer}"

    def declarative(self) -> Any:
        """Its tool asks."""

        @tool
        def ask(name: str) -> str:
            """Ask."""
            return self._ask(name)

        def reply(messages: list[Any], names: list[str]) -> Any:
            if isinstance(messages[-1], ToolMessage):
                return messages[-1].text
            return self.crews.calls("ask", {"name": messages[-1].text})

        return self.crews.kid(reply, tools=[ask])

    def compiled(self) -> Any:
        """Its node asks."""

        def node(state: Any) -> Any:
            return {"messages": [AIMessage(self._ask(state["messages"][-1].text))]}

        graph = StateGraph(MessagesState)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        graph.add_edge("node", END)
        return {"name": "kid", "description": "helps", "runnable": graph.compile()}

    def twice(self) -> Any:
        """Its node asks two things, one after the other."""

        def node(state: Any) -> Any:
            name = state["messages"][-1].text
            first, second = interrupt(f"{name}?"), interrupt(f"{name} again?")
            self.effects.append(f"{name} {first} {second}")
            return {"messages": [AIMessage(f"{name} {first} {second}")]}

        graph = StateGraph(MessagesState)
        graph.add_node("node", node)
        graph.add_edge(START, "node")
        graph.add_edge("node", END)
        return {"name": "kid", "description": "helps", "runnable": graph.compile()}

    def interpreting(self) -> Any:
        """It runs code, too, in which a call needs an approval."""

        @tool
        def pay(name: str) -> str:
            """Pay."""
            self.effects.append(f"{name} paid")
            return f"{name} paid"

        def reply(messages: list[Any], names: list[str]) -> Any:
            if isinstance(messages[-1], ToolMessage):
                return messages[-1].text.removeprefix("<result>").removesuffix("</result>")
            name = messages[-1].text
            code = f"let n = 0; n++; `${{await tools.pay({{name: '{name}'}})}} ${{n}}`"
            return self.crews.calls("eval", {"code": code}, f"inner-{name}")

        inner = CodeInterpreterMiddleware(ptc=[pay], interrupt_on={"pay": True})
        self.crews.made.append(inner)
        return self.crews.kid(reply, middleware=[inner])


@pytest.fixture
def kids(crews: Any) -> Kids:
    return Kids(crews)


async def pending(crew: Any) -> list[Any]:
    return list((await crew.agent.aget_state(CONFIG)).interrupts)


def dispatches(crew: Any, phase: str) -> list[str]:
    found = [e for e in crew.events if e["type"] == "subagent" and e["phase"] == phase]
    return [event["id"] for event in found]


@both
@processes
@pytest.mark.parametrize("kind", ["declarative", "compiled"])
async def test_a_pause_surfaces_and_resumes_with_the_same_dispatch(
    kids: Kids, kind: str, use_async: bool, elsewhere: bool
) -> None:
    crew = kids.crew(kind)
    assert await crew.run(ONE, use_async) == ""
    assert [one.value for one in await pending(crew)] == ["left?"]
    started = dispatches(crew, "start")
    assert len(started) == 1
    assert not kids.effects
    crew = kids.crew(kind) if elsewhere else crew
    given = Command(resume="yes")
    assert await crew.run(ONE, use_async, given=given) == "<result>left yes; 1</result>"
    assert kids.effects == ["left yes"]
    assert dispatches(crew, "start") == dispatches(crew, "complete") == started


@both
@processes
@pytest.mark.parametrize(
    ("kind", "at_once"), [("declarative", 32), ("compiled", 32), ("compiled", 1)]
)
async def test_three_at_once_all_go_on_at_once(
    kids: Kids, kind: str, at_once: int, use_async: bool, elsewhere: bool
) -> None:
    crew = kids.crew(kind, max_subagent_concurrency=at_once)
    assert await crew.run(THREE, use_async) == ""
    asked = await pending(crew)
    assert sorted(one.value for one in asked) == [f"{name}?" for name in NAMES]
    started = dispatches(crew, "start")
    crew = kids.crew(kind, max_subagent_concurrency=at_once) if elsewhere else crew
    given = Command(resume={one.id: f"yes {one.value}" for one in asked})
    expected = "<result>left yes left?,middle yes middle?,right yes right?; 3</result>"
    assert await crew.run(THREE, use_async, given=given) == expected
    assert sorted(kids.effects) == [f"{name} yes {name}?" for name in NAMES]
    assert sorted(dispatches(crew, "complete")) == sorted(started)


@both
@processes
@pytest.mark.parametrize("kind", ["declarative", "compiled"])
async def test_three_at_once_go_on_one_after_the_other(
    kids: Kids, kind: str, use_async: bool, elsewhere: bool
) -> None:
    crew = kids.crew(kind)
    await crew.run(THREE, use_async)
    for left in (3, 2, 1):
        asked = await pending(crew)
        assert len(asked) == left
        one = next(one for one in asked if one.value == f"{NAMES[left - 1]}?")
        crew = kids.crew(kind) if elsewhere else crew
        text = await crew.run(THREE, use_async, given=Command(resume={one.id: "yes"}))
        assert len(kids.effects) == 4 - left
    assert text == "<result>left yes,middle yes,right yes; 3</result>"
    assert kids.effects == ["right yes", "middle yes", "left yes"]


@both
@processes
async def test_a_subagent_can_pause_again(kids: Kids, use_async: bool, elsewhere: bool) -> None:
    crew = kids.crew("twice")
    await crew.run(THREE, use_async)
    asked = {one.value: one.id for one in await pending(crew)}
    answers = [("left?", "a"), ("middle?", "b"), ("left again?", "c"), ("right?", "d")]
    answers += [("right again?", "e"), ("middle again?", "f")]
    for question, answer in answers:
        crew = kids.crew("twice") if elsewhere else crew
        given = Command(resume={asked[question]: answer})
        text = await crew.run(THREE, use_async, given=given)
        asked = {one.value: one.id for one in await pending(crew)}
    assert text == "<result>left a c,middle b f,right d e; 3</result>"
    assert kids.effects == ["left a c", "right d e", "middle b f"]


@both
@processes
async def test_approvals_in_the_code_of_subagents(
    kids: Kids, use_async: bool, elsewhere: bool
) -> None:
    crew = kids.crew("interpreting")
    assert await crew.run(THREE, use_async) == ""
    asked = await pending(crew)
    names = [one.value["action_requests"][0]["args"]["name"] for one in asked]
    assert sorted(names) == list(NAMES)
    assert not kids.effects
    crew = kids.crew("interpreting") if elsewhere else crew
    approve = {"decisions": [{"type": "approve"}]}
    first = Command(resume={asked[0].id: approve})
    assert await crew.run(THREE, use_async, given=first) == ""
    assert kids.effects == [f"{names[0]} paid"]
    rest = await pending(crew)
    assert {one.id for one in rest} == {one.id for one in asked[1:]}
    crew = kids.crew("interpreting") if elsewhere else crew
    given = Command(resume={one.id: approve for one in rest})
    text = await crew.run(THREE, use_async, given=given)
    assert text == "<result>left paid 1,middle paid 1,right paid 1; 3</result>"
    assert sorted(kids.effects) == [f"{name} paid" for name in NAMES]


@both
@processes
async def test_one_approval_in_the_code_of_a_subagent_takes_a_plain_answer(
    kids: Kids, use_async: bool, elsewhere: bool
) -> None:
    crew = kids.crew("interpreting")
    await crew.run(ONE, use_async)
    crew = kids.crew("interpreting") if elsewhere else crew
    given = Command(resume={"decisions": [{"type": "reject", "message": "no"}]})
    text = await crew.run(ONE, use_async, given=given)
    assert "a reviewer rejected this call of pay: no" in text
    assert not kids.effects


@both
@processes
async def test_a_wrong_decision_for_the_code_of_a_subagent_is_asked_for_again(
    kids: Kids, use_async: bool, elsewhere: bool
) -> None:
    crew = kids.crew("interpreting")
    await crew.run(THREE, use_async)
    first, *rest = await pending(crew)
    approve = {"decisions": [{"type": "approve"}]}
    crew = kids.crew("interpreting") if elsewhere else crew
    given = {one.id: approve for one in rest} | {first.id: {"decisions": []}}
    assert await crew.run(THREE, use_async, given=Command(resume=given)) == ""
    (first,) = await pending(crew)
    assert first.value["refused"] == [
        "give one decision for each action request, 1 in total; got 0"
    ]
    assert len(kids.effects) == len(rest)
    crew = kids.crew("interpreting") if elsewhere else crew
    wrong = {"decisions": [{"type": "pay"}]}
    with pytest.raises(ValueError, match="got 'pay'"):
        await crew.run(THREE, use_async, given=Command(resume={first.id: wrong}))
    text = await crew.run(THREE, use_async, given=Command(resume={first.id: approve}))
    assert text == "<result>left paid 1,middle paid 1,right paid 1; 3</result>"
    assert sorted(kids.effects) == [f"{name} paid" for name in NAMES]


DECISIONS = [
    ({"type": "approve"}, "re: hello"),
    (
        {
            "type": "edit",
            "edited_action": {
                "name": "task",
                "args": {"description": "bye", "subagent_type": "kid"},
            },
        },
        "re: bye",
    ),
    ({"type": "reject", "message": "no"}, "ToolError a reviewer rejected this call of task: no"),
    ({"type": "respond", "message": "done already"}, "done already"),
]


@both
@pytest.mark.parametrize(("decision", "expected"), DECISIONS)
async def test_dispatches_can_need_an_approval(
    crews: Any, use_async: bool, decision: Any, expected: str
) -> None:
    crew = crews(interrupt_on={"task": True})
    ask = "await task({description: 'hello', subagentType: 'kid'})"
    code = f"try {{ {ask} }} catch (e) {{ e.name + ' ' + e.message }}"
    assert await crew.run(code, use_async) == ""
    assert not dispatches(crew, "start")
    (asked,) = await pending(crew)
    (request,) = asked.value["action_requests"]
    assert (request["name"], request["args"]) == (
        "task",
        {"description": "hello", "subagent_type": "kid"},
    )
    given = Command(resume={"decisions": [decision]})
    assert await crew.run(code, use_async, given=given) == f"<result>{expected}</result>"


async def test_a_pause_of_one_lets_the_others_end(kids: Kids, crews: Any) -> None:
    """What runs when the pause comes is finished and not run again."""
    runs: list[str] = []

    async def reply(messages: list[Any]) -> str:
        await asyncio.sleep(0.05)
        runs.append(messages[-1].text)
        return "late"

    late = crews.kid(lambda messages, names: reply(messages), name="late")
    crew = crews(kids.compiled(), late)
    code = "(await Promise.all(['kid', 'late'].map(subagentType => "
    code += "task({description: 'left', subagentType})))).join()"
    assert await crew.run(code) == ""
    assert runs == ["left"]
    assert await crew.run(code, given=Command(resume="yes")) == "<result>left yes,late</result>"
    assert runs == ["left"]
    assert isinstance(crew.state["messages"][0], HumanMessage)


class Dying(InMemorySaver):
    """Fails, when it is told to, where the second pause of an eval is recorded."""

    armed = False

    async def aput_writes(self, config: Any, writes: Any, *rest: Any) -> None:
        notes = [value.get("notes", {}) for name, value in writes if name == "interpreter_ledger"]
        if self.armed and any(note.get("pauses") == 2 for note in notes):
            self.armed = False
            raise ConnectionError("died")
        await super().aput_writes(config, writes, *rest)


async def test_a_second_question_takes_no_old_answer_when_the_process_dies(kids: Kids) -> None:
    """The subagent has stored its second question, the eval has not."""
    saver = kids.saver = Dying()
    crew = kids.crew("twice")
    await crew.run(ONE)
    (first,) = await pending(crew)
    saver.armed = True
    with pytest.raises(ConnectionError):
        await crew.run(ONE, given=Command(resume={first.id: "a"}))
    crew = kids.crew("twice")
    await crew.agent.ainvoke(None, CONFIG)
    (second,) = await pending(crew)
    assert second.value == "left again?"
    assert not kids.effects
    text = await crew.run(ONE, given=Command(resume="b"))
    assert text == "<result>left a b; 1</result>"
