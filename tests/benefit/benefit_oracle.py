"""An agent whose model is an oracle: it plays the ground truth of a task and counts what it reads.

Tokens are those of `o200k_base`, the tokenizer of the GPT-4o family, with the ranks that the
package `bpe-openai` contains: texts of messages, names and arguments of calls, the JSON of the
tools' descriptions, and three more for each message, as OpenAI counts its chats.
"""

from __future__ import annotations

import html
import json
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import attrs
from benefit_tasks import Call, Task, ToolForm, World, leaves
from benefit_ways import WAYS, Step, Traced, Way, programs
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from interpstack_javascript import JAVASCRIPT
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_ptc.api import guest_name

__all__ = ["ENCODING", "Figures", "tokens", "work", "work_in_all_ways"]

ENCODING: Final = "o200k_base"
_MESSAGE_TOKENS: Final = 3
#: More than any result: the model reads all of it, by code as by calls.
_RESULT_CHARS: Final = 1_000_000


@attrs.frozen
class Figures:
    """What one turn of the user cost.

    Attributes:
        calls: Calls of tools.
        turns: Answers of the model.
        read: Tokens that the model read, in all its turns together.
        new: Those of them that did not stand at the same place in its turn before: what is read
            if everything else comes from a provider's cache of prompts.
        written: Tokens that the model wrote.
    """

    calls: int = 0
    turns: int = 0
    read: int = 0
    new: int = 0
    written: int = 0

    def __add__(self, other: Figures) -> Figures:
        both = zip(attrs.astuple(self), attrs.astuple(other), strict=True)
        return Figures(*(one + another for one, another in both))


@cache
def _encoding() -> Any:
    with warnings.catch_warnings():
        # the package reads its data by a function that Python 3.11 deprecates
        warnings.simplefilter("ignore", DeprecationWarning)
        import bpe_openai

    return bpe_openai.get_encoding(ENCODING)


@cache
def tokens(text: str) -> int:
    """Count the tokens of a text."""
    return len(_encoding().encode(text))


def _written(message: AIMessage) -> str:
    calls = [
        json.dumps({"name": one["name"], "arguments": one["args"]}, ensure_ascii=False)
        for one in message.tool_calls
    ]
    return "\n".join([message.text, *calls] if message.text else calls)


def _text(message: BaseMessage) -> str:
    return _written(message) if isinstance(message, AIMessage) else message.text


class Oracle(BaseChatModel):
    """Plays messages, and counts what it reads and writes."""

    plan: Any = None
    script: list[AIMessage] = Field(default_factory=list)
    tools: str = ""
    seen: list[str] = Field(default_factory=list)
    figures: Any = Figures()

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        # the agent binds its tools anew for each of its turns
        self.tools = json.dumps([convert_to_openai_tool(one) for one in tools], ensure_ascii=False)
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        read = [self.tools, *map(_text, messages)]
        kept = _common(self.seen, read)
        if self.plan is not None:
            self.script, self.plan = self.plan("\n".join(read)), None
        counts = [tokens(one) + _MESSAGE_TOKENS for one in read]
        answer = self.script.pop(0)
        self.seen = read
        self.figures += Figures(
            turns=1,
            read=sum(counts),
            new=sum(counts[kept:]),
            written=tokens(_written(answer)) + _MESSAGE_TOKENS,
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)

    @property
    def _llm_type(self) -> str:
        return "oracle"


def _common(before: Sequence[str], after: Sequence[str]) -> int:
    """Return how many texts both lists begin with."""
    for number, (one, another) in enumerate(zip(before, after, strict=False)):
        if one != another:
            return number
    return min(len(before), len(after))


def _tool(form: ToolForm, world: World, made: list[Call]) -> BaseTool:
    # async without an await: calls of one message are made in their order
    async def run(**arguments: Any) -> Any:
        made.append(Call(form.name, arguments))
        return world.call(form.name, arguments)

    return StructuredTool.from_function(
        coroutine=run, name=form.name, description=form.description, args_schema=dict(form.schema)
    )


async def work(
    task: Task, way: Way, truth: Sequence[Sequence[Traced]]
) -> tuple[list[Figures], World]:
    """Do a task in one way with a real agent; return the figures of each turn, and the world.

    Args:
        task: The task.
        way: The way.
        truth: The task's calls with their results, from `traced`.

    Raises:
        AssertionError: The agent made other calls than the ground truth, a call or a cell failed,
            or the model could not read a result that it had to read.
    """
    world, made, model = task.new_world(), list[Call](), Oracle()
    names = [form.name for form in task.tools]
    options: dict[str, Any] = {"tools_only": True} if way.tools_only else {"ptc": names}
    middleware = [CodeInterpreterMiddleware(max_result_chars=_RESULT_CHARS, **options)]
    agent = create_agent(
        model,
        tools=[_tool(form, world, made) for form in task.tools],
        middleware=middleware if way.by_code else [],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": task.name}, "recursion_limit": 200}
    found: list[Figures] = []
    for turn, calls in zip(task.turns, truth, strict=True):
        steps = _Steps(way, calls, turn.answer)
        model.plan, model.figures, before = steps.plan, Figures(calls=len(calls)), len(made)
        state = await agent.ainvoke({"messages": [("user", turn.question)]}, config)
        assert not model.script, f"{task.name}: the agent ended early"
        assert made[before:] == [one.call for one in calls], f"{task.name}: other calls were made"
        for step in steps.found:
            _check_results(task, step, state["messages"])
        found.append(model.figures)
    return found, world


async def work_in_all_ways(
    task: Task, truth: Sequence[Sequence[Traced]], ways: Mapping[str, Way] = WAYS
) -> dict[str, list[Figures]]:
    """Do a task in all ways; return the figures of each turn of the user, by way.

    Raises:
        AssertionError: See `work`; or two ways left different worlds; or the suite's own check
            says that the task was not solved.
    """
    found: dict[str, list[Figures]] = {}
    expected: Any = None
    for name, way in ways.items():
        found[name], world = await work(task, way, truth)
        state = world.state()
        assert expected is None or state == expected, f"{task.name}: {name} left another world"
        expected = state
    # the worlds are equal, and so are the calls
    task.check(world, [one.call for calls in truth for one in calls])
    return found


@attrs.define
class _Steps:
    """The steps of one turn of the user, planned when the model begins to read."""

    way: Way
    calls: Sequence[Traced]
    answer: str
    found: list[Step] = attrs.field(factory=list)

    def plan(self, read: str) -> list[AIMessage]:
        """Return the model's messages, given all that it has read so far."""
        used = dict.fromkeys(one.call.tool for one in self.calls)
        unseen = [one for one in used if f"{guest_name(one, JAVASCRIPT)}(" not in read]
        self.found = list(
            programs(self.way, self.calls, unseen=unseen if self.way.tools_only else ())
        )
        return [*(step.message for step in self.found), AIMessage(self.answer)]


def _check_results(task: Task, step: Step, messages: Sequence[BaseMessage]) -> None:
    """Check that no call failed, and that each value of each result shown stands in the answer."""
    ids = {one["id"] for one in step.message.tool_calls}
    answers = [one for one in messages if isinstance(one, ToolMessage) and one.tool_call_id in ids]
    assert len(answers) == len(ids), f"{task.name}: calls without answers"
    assert all(one.status == "success" for one in answers), f"{task.name}: {answers}"
    text = html.unescape("\n".join(one.text for one in answers))
    for one in step.shown:
        for _, value in leaves(one.result):
            forms = {str(value), json.dumps(value, ensure_ascii=False).strip('"')}
            if isinstance(value, float):
                forms.add(f"{value:.17g}".removesuffix(".0"))
                forms.add(str(value).removesuffix(".0"))
            assert any(form in text for form in forms), f"{task.name}: {value!r} not in {text}"
