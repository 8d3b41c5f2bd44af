"""`task` as the guest sees it: what it takes, and when it is there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest
from deepagents.backends import StateBackend
from deepagents.middleware.subagents import SubAgentMiddleware
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from interpstack import HostOffer, InterpreterStack, Session
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_subagents.api import Subagents


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    async def dispatch(wanted: Any, context: Any) -> Any:
        return attrs.asdict(wanted)

    with InterpreterStack(plugins=["subagents"]) as stack:
        async with stack.session() as made:
            made.bind(HostOffer(parts=[Subagents(dispatch)]))
            yield made


async def received(session: Session, argument: str) -> Any:
    """What the dispatcher was given for `task(argument)`."""
    outcome = await session.eval(f"JSON.stringify(await task({argument}))")
    assert outcome.error is None
    return json.loads(outcome.text)


async def test_all_fields_arrive(session: Session) -> None:
    given = await received(
        session,
        '{description: "d", subagentType: "kid", label: "l", '
        'responseSchema: {title: "Find it!", type: "object", properties: {a: {type: "string"}}}}',
    )
    assert given == {
        "description": "d",
        "subagent_type": "kid",
        "label": "l",
        "response_schema": {
            "type": "object",
            "title": "Find_it",
            "properties": {"a": {"type": "string"}},
        },
    }


@pytest.mark.parametrize("label", ["", "label: undefined", "label: null", "label: ''"])
async def test_what_is_optional_may_be_left_out(session: Session, label: str) -> None:
    given = await received(
        session, f'{{description: "d", subagentType: "kid", responseSchema: undefined, {label}}}'
    )
    assert (given["label"], given["response_schema"]) == ("", None)


@pytest.mark.parametrize("title", ["", "title: '',", "title: ' ',", "title: 5,", "title: '!',"])
async def test_a_missing_title_is_filled_in(session: Session, title: str) -> None:
    given = await received(
        session,
        f'{{description: "d", subagentType: "k", responseSchema: {{{title} properties: {{}}}}}}',
    )
    assert given["response_schema"] == {
        "type": "object",
        "title": "subagent_response",
        "properties": {},
    }


WIDE = "Object.fromEntries(Array.from({length: %d}, (_, i) => [`p${i}`, {type: 'string'}]))"
DEEP = (
    "(function nest(n) { return n === 0 ? {type: 'string'}"
    " : {type: 'object', properties: {a: nest(n - 1)}} })(%d)"
)
DEEP_LISTS = (
    "{properties: {a: (function nest(n) { return n === 0 ? {type: 'string'}"
    " : {type: 'array', items: nest(n - 1)} })(%d)}}"
)
LONG = "{properties: {a: {description: 'x'.repeat(%d)}}}"


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        (LONG % 4050, None),
        (LONG % 4100, "4096 bytes"),
        (f"{{properties: {WIDE % 32}}}", None),
        (f"{{properties: {WIDE % 33}}}", "32 properties; it has 33"),
        (f"{{properties: {{a: {{properties: {WIDE % 32}}}}}}}", "32 properties; it has 33"),
        (f"{{properties: {{a: {{anyOf: [{{properties: {WIDE % 33}}}]}}}}}}", "32 properties"),
        (DEEP % 5, None),
        (DEEP % 6, "5 levels"),
        (DEEP_LISTS % 4, None),
        (DEEP_LISTS % 5, "5 levels"),
        ("{type: 'array', items: {}}", "object"),
        ("{type: ['object', 'null']}", "object"),
        ("[]", "JSON Schema"),
        ("'string'", "JSON Schema"),
        ("5", "JSON Schema"),
        ("new Map()", "JSON Schema"),
        ("{properties: []}", '"properties"'),
        ("{properties: {a: {default: new Date(0)}}}", "plain JSON"),
        ("{properties: {a: {default: undefined}}}", "plain JSON"),
        ("{properties: {a: {default: NaN}}}", "plain JSON"),
    ],
)
async def test_limits_of_a_response_schema(
    session: Session, schema: str, named: str | None
) -> None:
    outcome = await session.eval(
        f'await task({{description: "d", subagentType: "kid", responseSchema: {schema}}}); 1'
    )
    if named is None:
        assert outcome.error is None
        return
    assert outcome.error is not None
    assert outcome.error.name == "TypeError"
    assert "responseSchema" in outcome.error.message
    assert named in outcome.error.message


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ("", "one object"),
        ("null", "one object"),
        ("'find it'", "one object"),
        ("['find it']", "one object"),
        ("new Map([['description', 'd']])", "one object"),
        ("{}", "'description'"),
        ("{subagentType: 'kid'}", "'description'"),
        ("{description: '', subagentType: 'kid'}", "'description'"),
        ("{description: ' \\n', subagentType: 'kid'}", "'description'"),
        ("{description: 5, subagentType: 'kid'}", "'description'"),
        ("{description: ['d'], subagentType: 'kid'}", "'description'"),
        ("{description: 'd'}", "'subagentType'"),
        ("{description: 'd', subagentType: null}", "'subagentType'"),
        ("{description: 'd', subagentType: 1}", "'subagentType'"),
        ("{description: 'd', subagent_type: 'kid'}", "'subagent_type'"),
        ("{description: 'd', subagentType: 'kid', prompt: 'p'}", "'prompt'"),
        ("{description: 'd', subagentType: 'kid', label: 5}", "'label'"),
        ("{description: 'd', subagentType: 'kid', label: {}}", "'label'"),
    ],
)
async def test_bad_input_is_refused_by_name(session: Session, argument: str, named: str) -> None:
    outcome = await session.eval(
        f"try {{ await task({argument}) }}"
        "catch (e) { [e instanceof Error, e.name, e.tool, e.message] }"
    )
    assert outcome.text.startswith('[true, "TypeError", "task", "task() ')
    assert named in outcome.text


@pytest.mark.parametrize(
    "code",
    [
        "task = 5",
        "globalThis.task = 5",
        "var task = 5",
        "task.extra = 1; task.extra ?? 'unchanged'",
        "delete globalThis.task",
        "Object.defineProperty(globalThis, 'task', {value: 5})",
        "Object.keys(globalThis).includes('task')",
    ],
)
async def test_task_is_reserved_and_frozen(session: Session, code: str) -> None:
    await session.eval(code)
    assert (await received(session, "{description: 'd', subagentType: 'kid'}"))[
        "description"
    ] == "d"
    assert (await session.eval("[typeof task, Object.isFrozen(task)]")).text == '["function", true]'
    assert (await session.eval("Object.keys(globalThis).includes('task')")).text == "false"


async def test_without_a_dispatcher_there_is_no_task(session: Session) -> None:
    session.bind(HostOffer())
    assert (await session.eval("typeof task")).text == "undefined"


@pytest.mark.parametrize(("subagents", "kind"), [(True, "function"), (False, "undefined")])
async def test_subagents_can_be_hidden(crews: Any, subagents: bool, kind: str) -> None:
    crew = crews(subagents=subagents)
    assert await crew.run("typeof task") == f"<result>{kind}</result>"
    assert ("### Subagents in code" in crew.prompts[0]) is subagents


async def test_an_agent_without_a_task_tool_has_no_task() -> None:
    call = {"name": "eval", "args": {"code": "typeof task"}, "id": "1", "type": "tool_call"}
    model = _Told(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("done")]), seen=[])
    middleware = CodeInterpreterMiddleware()
    agent = create_agent(model, middleware=[middleware])
    result = await agent.ainvoke({"messages": [("user", "go")]})
    middleware.stack.close()
    assert result["messages"][-2].text == "<result>undefined</result>"
    assert "task(" not in model.seen[0][0].text


class _Told(GenericFakeChatModel):
    seen: list[Any]

    def bind_tools(self, tools: Any, **kwargs: Any) -> _Told:
        return self

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(messages)
        return super()._generate(messages, *args, **kwargs)


@pytest.mark.parametrize(("helped", "most"), [(False, 2500), (True, 4000)])
async def test_the_prompt_is_short(crews: Any, helped: bool, most: int) -> None:
    model = _Told(messages=iter([AIMessage("done")]), seen=[])
    middleware = CodeInterpreterMiddleware()
    helpers = [SubAgentMiddleware(backend=StateBackend(), subagents=[crews.kid()])]
    agent = create_agent(model, middleware=[*(helpers if helped else []), middleware])
    await agent.ainvoke({"messages": [("user", "go")]})
    middleware.stack.close()
    prompt = model.seen[0][0].text  # the agent itself has none
    assert 200 < len(prompt) <= most
    for word in ("task({description, subagentType", "responseSchema"):
        assert (word in prompt) is helped
