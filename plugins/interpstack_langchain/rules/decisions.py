"""Decisions of people about calls that wait for an approval, checked before they are used.

A decision that does not fit is refused, and its question stays open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

import attrs
from langchain_core.tools import BaseTool

from interpstack import GuestException
from interpstack_agents import has_handles
from interpstack_langchain.rules.human_decisions import human_decision
from interpstack_langchain.rules.shown_values import read, storable
from interpstack_langchain.tools.task_tool import without_schema
from interpstack_langchain.tools.tool_schemas import misfit

__all__ = ["Decisions", "Editable", "decisions"]

#: What a decision keeps of its question: which call it is about, the rules that were asked about
#: the call, and the call as they or earlier decisions changed it.
_KEPT: Final = ("digest", "by", "changed")


@attrs.frozen
class Editable:
    """Tools that a reviewer may name in an edit.

    Attributes:
        own: Tools that only code has, which an edit may keep, but not change to.
        agent: Tools of the agent.
        eval_name: Name of the eval tool, which no call can be edited to.
    """

    own: Iterable[BaseTool]
    agent: Iterable[BaseTool]
    eval_name: str

    def refusal(self, shown: str, name: str, args: Mapping[Any, Any]) -> str:
        """Reason to refuse an edit of a call of the tool `shown`; empty if the edit fits."""
        tools = {tool.name: tool for tool in self.agent}
        tools.pop(self.eval_name, None)
        if name == self.eval_name:
            return (
                f"{shown} cannot be edited to {name}, the tool that runs the code which calls it; "
                "name another tool"
            )
        own = {tool.name: tool for tool in self.own if tool.name == shown}
        tool = own.get(name) or tools.get(name)
        if tool is None:
            if name == shown:  # the agent has lost it; the call says so
                return ""
            known = ", ".join(sorted({*tools, *own})) or f"none beside {self.eval_name}"
            return (
                f"{shown} cannot be edited to {name!r}, which is not a tool; the agent has: {known}"
            )
        try:
            fields, _ = without_schema(tool, read(args))
            # The tool itself is asked about values that stay with the host.
            why = "" if has_handles(fields) else misfit(tool, fields)
        except GuestException as error:
            why = str(error)
        return f"{shown} cannot be edited to this call of {name}: {why}" if why else ""


@attrs.frozen
class Decisions:
    """The decisions of one answer.

    Attributes:
        made: The decisions that fit, as they are noted, by request.
        refused: Reasons to refuse the other decisions, by request.
    """

    made: Mapping[str, dict[str, Any]]
    refused: Mapping[str, str]


def decisions(
    questions: Mapping[str, Mapping[str, Any]], answer: Any, editable: Editable
) -> Decisions:
    """The decisions of an answer, each checked alone.

    Args:
        questions: Questions by request.
        answer: The answer of a person.
        editable: Tools that a decision may name.
    """
    given = answer.get("decisions") if isinstance(answer, Mapping) else None
    if not isinstance(given, list) or not all(isinstance(item, Mapping) for item in given):
        return Decisions({}, dict.fromkeys(
            questions,
            'resume with {"decisions": [{"type": …}, …]}, one decision for each action request; '
            f"got {answer!r:.200}",
        ))  # fmt: skip
    if len(given) != len(questions):
        why = (
            f"give one decision for each action request, {len(questions)} in total; "
            f"got {len(given)}"
        )
        return Decisions({}, dict.fromkeys(questions, why))
    made, refused = dict[str, dict[str, Any]](), dict[str, str]()
    for (key, question), decision in zip(questions.items(), given, strict=True):
        try:
            made[key] = _decided(question, decision, editable)
        except ValueError as error:
            refused[key] = str(error)
    return Decisions(made, refused)


def _decided(
    question: Mapping[str, Any], given: Mapping[str, Any], editable: Editable
) -> dict[str, Any]:
    """A decision as it is noted.

    Raises:
        ValueError: It does not fit.
    """
    action = question["payload"]["action_requests"][0]
    allowed = question["payload"]["review_configs"][0]["allowed_decisions"]
    name = action["name"]
    made = human_decision(name, allowed, given, partial(editable.refusal, name))
    kept = {key: question[key] for key in _KEPT if key in question}
    noted = {"type": made["type"], "shown": name, **kept}
    if made["type"] == "edit":
        edited = made["edited_action"]
        return {**noted, "name": edited["name"], "args": storable(read(edited["args"]))}
    return {**noted, "message": made.get("message")}
