"""Turns of a thread: inputs, and the messages, calls and evals that follow each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.checkpoint.serde.types import ERROR

from interpstack_inspect.api import (
    ChatMessage,
    EvalSummary,
    TokenUse,
    ToolUse,
    Turn,
    TurnEntry,
)
from interpstack_langchain.evals.call_names import unique_names
from interpstack_langchain.inspecting.eval_views import eval_summary
from interpstack_langchain.inspecting.questions import ended_tasks
from interpstack_langchain.model_reports import (
    cached_tokens,
    message_cost,
    message_tokens,
    model_name,
)
from interpstack_langchain.replay.recorded_evals import RecordedEval
from interpstack_langchain.replay.recorded_steps import RecordedStep
from interpstack_workflows.api import Prices

__all__ = ["turns_of"]

#: Characters of a message, and of the arguments or the result of a call.
_TEXT_CHARS: Final = 10_000
#: Characters of an error.
_ERROR_CHARS: Final = 500
#: The channel with the input of a run, and the metadata of the checkpoint that holds it.
_START: Final = "__start__"
_INPUT: Final = "input"
_MESSAGES: Final = "messages"


def turns_of(
    steps: Sequence[RecordedStep], evals: Sequence[RecordedEval], prices: Prices
) -> list[Turn]:
    """The turns of a thread: one for each input of the outermost graph.

    Args:
        steps: The steps of the thread, in order.
        evals: Its evals, in order.
        prices: Prices of models that do not report their cost.
    """
    inputs = [
        step
        for step in steps
        if not step.graph and (step.saved.metadata or {}).get("source") == _INPUT
    ]
    given = [step.saved.checkpoint["channel_values"].get(_START) for step in inputs]
    texts = {text for one in given for text in _texts(one)}
    found: list[list[TurnEntry]] = [[] for _ in range(len(inputs) + 1)]
    for step, entry in _entries(steps, evals, texts, prices):
        found[_turn_number(step, inputs)].append(entry)
    problems = {_turn_number(step, inputs): _problem(step) for step in steps if not step.graph}
    turns = [
        Turn(
            number=number,
            began=str(step.saved.checkpoint["ts"]),
            text=_input_text(given[number - 1]),
            entries=found[number],
            problem=problems.get(number, ""),
        )
        for number, step in enumerate(inputs, 1)
    ]
    if found[0]:  # the checkpoint of the input was deleted
        began = str(steps[0].saved.checkpoint["ts"])
        turns.insert(0, Turn(number=0, began=began, text="", entries=found[0]))
    return turns


def _turn_number(step: RecordedStep, inputs: Sequence[RecordedStep]) -> int:
    return sum(one.checkpoint <= step.checkpoint for one in inputs)


def _entries(
    steps: Sequence[RecordedStep],
    evals: Sequence[RecordedEval],
    inputs: set[str],
    prices: Prices,
) -> Iterator[tuple[RecordedStep, TurnEntry]]:
    """The entries of all turns, each with the step before which it was recorded.

    A message belongs to the first step whose state has it. An eval stands where the message calls
    it; one without such a message, as on a branch of the thread, at its own step.
    """
    results = _results(steps)
    seen: set[Any] = set()
    summaries = {id(one): eval_summary(one) for one in evals}
    for step in steps:
        own = {one.call_id: summaries[id(one)] for one in evals if one.step is step}
        for message in _new_messages(step, seen):
            if isinstance(message, AIMessage):
                yield from ((step, one) for one in _of_agent(message, step, own, results, prices))
            elif not isinstance(message, ToolMessage):
                text = str(message.text)
                if not isinstance(message, HumanMessage) or step.graph or text not in inputs:
                    author = _author(message, step.graph)
                    yield step, ChatMessage(author=author, text=_cut(text), graph=step.graph)
        yield from ((step, one) for one in own.values())


def _of_agent(
    message: AIMessage,
    step: RecordedStep,
    evals: dict[str, EvalSummary],
    results: Mapping[tuple[str, str], ToolMessage],
    prices: Prices,
) -> Iterator[TurnEntry]:
    """A message of a model, and its calls; evals that it calls are taken out of `evals`."""
    text, use = str(message.text), _use(message, prices)
    if text or use is not None:
        yield ChatMessage(
            author="agent",
            text=_cut(text),
            graph=step.graph,
            model=model_name(message) or "",
            use=use,
        )
    names = unique_names(str(call["id"] or "") for call in message.tool_calls)
    for name, call in zip(names, message.tool_calls, strict=True):
        if name in evals:
            yield evals.pop(name)
            continue
        result = results.get((step.graph, str(call["id"] or "")))
        yield ToolUse(
            name=call["name"],
            args=_cut(json.dumps(call["args"], default=repr, ensure_ascii=False, skipkeys=True)),
            graph=step.graph,
            result=None if result is None else _cut(str(result.text)),
            failed=result is not None and result.status == "error",
        )


def _use(message: AIMessage, prices: Prices) -> TokenUse | None:
    """The tokens and the cost of a message; `None` if its model reports neither."""
    name = model_name(message)
    tokens, cost = message_tokens(message), message_cost(message, prices, name)
    if tokens is None and cost is None:
        return None
    return TokenUse(
        input_tokens=0 if tokens is None else tokens.input_tokens,
        output_tokens=0 if tokens is None else tokens.output_tokens,
        cached_tokens=cached_tokens(message),
        cost=cost,
        unpriced=() if cost is not None else (name or "unknown",),
    )


def _new_messages(step: RecordedStep, seen: set[Any]) -> Iterator[BaseMessage]:
    """The messages in the state of a step that no earlier step had."""
    for place, message in enumerate(_messages(step)):
        key = message.id or (step.graph, place)
        if key not in seen:
            seen.add(key)
            yield message


def _messages(step: RecordedStep) -> list[BaseMessage]:
    found = step.saved.checkpoint["channel_values"].get(_MESSAGES)
    listed = found if isinstance(found, list) else []
    return [one for one in listed if isinstance(one, BaseMessage)]


def _results(steps: Sequence[RecordedStep]) -> dict[tuple[str, str], ToolMessage]:
    """The results of calls, by the graph and the id of each call."""
    found: dict[tuple[str, str], ToolMessage] = {}
    for step in steps:
        tool_messages = [one for one in _messages(step) if isinstance(one, ToolMessage)]
        for message in [*step.answers.values(), *tool_messages]:
            found[step.graph, message.tool_call_id] = message
    return found


def _author(message: BaseMessage, graph: str) -> str:
    if isinstance(message, HumanMessage):
        return "task" if graph else "person"
    return str(message.type)


def _problem(step: RecordedStep) -> str:
    """The error with which a run ended at a step, if nothing has run the failed task since."""
    writes = step.saved.pending_writes or ()
    ended = ended_tasks(writes)
    errors = [
        str(value) for task, channel, value in writes if channel == ERROR and task not in ended
    ]
    return errors[-1][:_ERROR_CHARS] if errors else ""


def _input_text(given: Any) -> str:
    """The input of a run, as text: its last message, or all of it as JSON."""
    texts = _texts(given)
    if texts:
        return _cut(texts[-1])
    return "" if given is None else _cut(json.dumps(given, default=repr, ensure_ascii=False))


def _texts(given: Any) -> list[str]:
    """The texts of the messages of an input; none if it has messages of a form of its own."""
    messages = given.get(_MESSAGES) if isinstance(given, dict) else None
    if not messages:
        return []
    try:
        found = convert_to_messages(messages if isinstance(messages, list) else [messages])
        return [str(one.text) for one in found]
    except (TypeError, ValueError, NotImplementedError, LookupError):
        return []


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_CHARS else f"{text[:_TEXT_CHARS]}…"
