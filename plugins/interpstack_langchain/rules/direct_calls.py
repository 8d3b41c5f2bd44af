"""Approvals of calls that the model makes itself, by the interpreter's `interrupt_on`.

The question has the form of a question about a call from code, and so has its answer. LangGraph
keeps the question: the call's own task asks it with `interrupt`, before the tool starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import attrs
from langchain_core.messages import AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt

from interpstack import GuestException
from interpstack.values import same_json
from interpstack_agents import has_half
from interpstack_langchain.rules.approvals import Approvals, call_after, payload
from interpstack_langchain.rules.decisions import Editable, decisions
from interpstack_langchain.rules.shown_values import storable
from interpstack_langchain.tools.tool_schemas import misfit

__all__ = ["DirectCall", "with_made_call"]

#: Key of the only question of a call.
_ONLY: Final = "call"


@attrs.frozen(eq=False, repr=False)
class DirectCall:
    """A call that the model makes itself, and whose tool is named in `interrupt_on`.

    Attributes:
        request: The call.
        approvals: The rule of `interrupt_on`.
        eval_name: Name of the interpreter's own tool.
    """

    request: ToolCallRequest
    approvals: Approvals
    eval_name: str

    def admitted(self) -> ToolCallRequest | ToolMessage:
        """Ask for an approval, if the rule wants one.

        An answer that does not fit leaves the question open: it is asked again, with the reason.

        Returns:
            The call to make, as a person may have edited it, or the answer in its place.

        Raises:
            GraphInterrupt: The call waits for a decision.
        """
        call = self.request.tool_call
        try:
            question = self.approvals.question(call, self)
            if question is None:
                return self.request
            _check_texts(call)
            _check_args(self.request)
            outcome = call_after(self._decision(question), call)
        except GuestException as error:
            return self._answer(str(error), "error")
        if isinstance(outcome, str):
            return self._answer(outcome, "success")
        return self.request if outcome is call else self._changed(outcome)

    def _decision(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """The first answer to a question that fits."""
        editable = Editable((), self.request.runtime.tools, self.eval_name)
        refused: Mapping[str, str] = {}
        while True:  # an answer that was given before is returned at once; a new one interrupts
            asked = {**question, **({"refused": refused[_ONLY]} if refused else {})}
            answer = interrupt(payload({_ONLY: asked}))
            given = decisions({_ONLY: question}, answer, editable)
            refused = given.refused
            if not refused:
                return given.made[_ONLY]

    def _changed(self, call: ToolCall) -> ToolCallRequest:
        """The request of a call that differs from the model's."""
        if call["name"] == self.request.tool_call["name"]:
            return self.request.override(tool_call=call)
        tools = {tool.name: tool for tool in self.request.runtime.tools}
        return self.request.override(tool_call=call, tool=tools[call["name"]])

    def _answer(self, content: str, status: Any) -> ToolMessage:
        call = self.request.tool_call
        return ToolMessage(
            content=content, tool_call_id=call["id"] or "", name=call["name"], status=status
        )


def _check_texts(call: ToolCall) -> None:
    """Refuse a call that would be read with other texts from the thread after its decision.

    Raises:
        GuestException: It has half of a surrogate pair.
    """
    if has_half(call["args"]):
        raise GuestException(
            f"{call['name']} needs an approval, and its arguments have half of a surrogate pair, "
            "which the thread cannot store; the call was not made. Pass well-formed text"
        )


def _check_args(request: ToolCallRequest) -> None:
    """Refuse a call with arguments that the tool would refuse, or drop after somebody saw them.

    Raises:
        GuestException: It has such arguments.
    """
    call = request.tool_call
    if isinstance(request.tool, BaseTool) and (why := misfit(request.tool, call["args"])):
        raise GuestException(
            f"{call['name']} needs an approval, and was not called: {why}; correct the arguments"
        )


def with_made_call(answer: Any, made: ToolCallRequest, request: ToolCallRequest) -> Any:
    """A tool's answer to the model, which says so if a person edited the call.

    Args:
        answer: A message, or a command with one.
        made: The call that was made.
        request: The call of the model.
    """
    call = made.tool_call
    if same_json(call, request.tool_call):
        return answer
    args = json.dumps(storable(call["args"]), ensure_ascii=False, default=repr)
    notice = f"A reviewer changed this call. Made instead: {call['name']} with {args}."

    def changed(message: AnyMessage) -> AnyMessage:
        if not isinstance(message, ToolMessage) or message.tool_call_id != call["id"]:
            return message
        content = message.content
        if isinstance(content, str):
            return message.model_copy(update={"content": f"{notice}\n{content}"})
        return message.model_copy(update={"content": [{"type": "text", "text": notice}, *content]})

    if isinstance(answer, ToolMessage):
        return changed(answer)
    if isinstance(answer, Command) and isinstance(answer.update, dict):
        messages = [changed(message) for message in answer.update.get("messages", ())]
        return replace(answer, update={**answer.update, "messages": messages})
    return answer
