"""Approvals of calls from code, in the form of LangChain's `HumanInTheLoopMiddleware`.

That middleware itself decides which calls need an approval, the text to show, and the meaning of a
decision: it receives each call as if the model had made it. So its configuration, payloads and
decisions are accepted unchanged, in every version.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, Protocol

import attrs
from langchain_core.messages import AIMessage, ToolCall
from langgraph.errors import GraphBubbleUp, GraphInterrupt
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.runtime import Runtime
from langgraph.types import Interrupt

from interpstack import CellContext, GuestException, Request
from interpstack.values import same_json
from interpstack_agents import escaped_text, readable_arguments, with_handles
from interpstack_durable.api import ReplayDivergence
from interpstack_langchain.langgraph_internals.call_scopes import entered, scope
from interpstack_langchain.rules.approval_rules import ApprovalRules, Policy
from interpstack_langchain.rules.pause_notes import read_decision
from interpstack_langchain.rules.shown_values import (
    digestible,
    plain,
    read,
    storable,
    unstorable_key,
)

__all__ = [
    "ApprovalNeeded",
    "Approvals",
    "UnfitAnswer",
    "admitted",
    "call_after",
    "payload",
    "running_call",
]

_log = logging.getLogger(__name__)
#: Characters of an input that are shown of a call that runs.
_SHOWN_CHARS: Final = 200


class Running(Protocol):
    """What approvals need of the eval that makes a call, or of the model's own call."""

    @property
    def request(self) -> ToolCallRequest:
        """The model's call."""


class ApprovalNeeded(GraphBubbleUp):
    """Raised when a call needs a decision before it may run.

    Attributes:
        question: The question, as plain data.
    """

    def __init__(self, question: Mapping[str, Any]) -> None:
        super().__init__()
        self.question = question


class UnfitAnswer(ValueError):
    """Raised when an answer does not fit its question, which stays open.

    Attributes:
        waiting: The questions of the eval, for an eval around it.
    """

    waiting: tuple[Interrupt, ...] = ()

    def asking(self, waiting: tuple[Interrupt, ...]) -> UnfitAnswer:
        """The same error, with the questions of the eval."""
        self.waiting = waiting
        return self


def admitted(
    call: ToolCall,
    note: Any,
    approvals: Approvals | None,
    running: Running,
    context: CellContext | None = None,
) -> ToolCall | str:
    """Let a call from code pass, once each rule that asks about it has its decision.

    Args:
        call: As the model would have made it.
        note: The journal's note of the last decision about the call; `None` without any.
        approvals: The approvals that calls of the eval need; `None` without any. A decision that
            was made holds although its rule is gone.
        running: The eval that makes the call.
        context: Its context, if values that stay with the host are among its arguments: `call` has
            stand-ins for them, which are shown.

    Returns:
        The call to make, as decisions changed it, or the answer that a person gave in its place.

    Raises:
        ApprovalNeeded: A rule asks about the call, and there is no decision yet.
        GuestException: The call was rejected, a rule failed, or nobody can be shown the arguments.
        ReplayDivergence: The decision was made on another call.
        UnreadableJournal: The decision is damaged.
    """
    decision = _noted_decision(call, note)
    after = call if decision is None else call_after(decision, call)
    if isinstance(after, str) or approvals is None:
        return after
    question = approvals.question(after, running, decision, (call, context))
    if question is not None:
        raise ApprovalNeeded(question)
    return after


def _noted_decision(call: ToolCall, note: Any) -> Mapping[str, Any] | None:
    """Return the last decision about a call, as it is noted; `None` if there is none.

    Args:
        call: As the model would have made it.
        note: The journal's note of the decision.

    Raises:
        ReplayDivergence: The decision was made on another call.
        UnreadableJournal: The decision is damaged.
    """
    decision = read_decision(note)
    if decision is not None and decision["digest"] != _digest(call):
        asked = f"{call['name']}({json.dumps(digestible(call['args']), default=repr)[:200]})"
        raise ReplayDivergence(
            f"the decision on {decision['shown']} cannot be used for {asked}; nothing was done"
        )
    return decision


def call_after(decision: Mapping[str, Any], call: ToolCall) -> ToolCall | str:
    """Return the call to make after a decision, or the answer that a person gave in its place.

    Raises:
        GuestException: The call was rejected.
    """
    if decision["type"] == "respond":
        return str(decision["message"])
    if decision["type"] == "reject":
        reason = decision["message"]
        why = f": {reason}" if reason else "; do not repeat it unless the user asks for it"
        raise GuestException(f"a reviewer rejected this call of {call['name']}{why}", rejected=True)
    changed = _carried(decision).get("changed")
    return (
        call
        if changed is None
        else {**call, "name": changed["name"], "args": read(changed["args"])}
    )


@attrs.frozen(eq=False, repr=False)
class Approvals:
    """Asks for the approvals of calls that need one.

    Attributes:
        rules: The rules that decide which calls those are.
    """

    rules: ApprovalRules

    def question(
        self,
        call: ToolCall,
        running: Running,
        decision: Mapping[str, Any] | None = None,
        made: tuple[ToolCall, CellContext | None] | None = None,
    ) -> dict[str, Any] | None:
        """The question of the next rule that asks about a call; `None` if none does.

        Args:
            call: The call, as earlier decisions changed it.
            running: The eval that makes the call.
            decision: The last decision about it.
            made: The call as code made it, and its context, if that has values for stand-ins.

        Raises:
            GuestException: The rule failed, or nobody can be shown the arguments.
        """
        policies = self.rules.policies(call["name"])
        done: list[str] = []
        if decision is not None:
            asked = self._rules_asked(call, decision)
            if asked is None:
                return None
            done = asked
        for policy in policies:
            if policy.name in done:
                continue
            question = _question_of(policy, call, running, made)
            if question is None:
                continue
            before = _carried(decision) if decision else {}
            by = {"by": [*done, policy.name]} if done or len(policies) > 1 else {}
            return {**before, **question, **by, **_digest_of(decision)}
        return None

    def _rules_asked(self, call: ToolCall, decision: Mapping[str, Any]) -> list[str] | None:
        """The names of the rules that have been asked about a call; `None` if all have."""
        if "by" in decision:
            by: list[str] = decision["by"]
            return by
        if call["name"] == decision["shown"]:  # there was one rule
            return None
        # That rule allowed another tool in an edit, and others may ask about that tool.
        return [policy.name for policy in self.rules.policies(decision["shown"])]


def _carried(decision: Mapping[str, Any]) -> dict[str, Any]:
    """The call that earlier decisions changed, as the next question keeps it."""
    if decision["type"] == "edit":
        return {"changed": {"name": decision["name"], "args": decision["args"]}}
    return {"changed": decision["changed"]} if "changed" in decision else {}


def _digest_of(decision: Mapping[str, Any] | None) -> dict[str, Any]:
    """The digest of the call as code made it, which all decisions about it are compared with."""
    return {} if decision is None else {"digest": decision["digest"]}


def _question_of(
    policy: Policy,
    call: ToolCall,
    running: Running,
    made: tuple[ToolCall, CellContext | None] | None,
) -> dict[str, Any] | None:
    """The question of one policy about a call; `None` if it has none."""
    asked, context = made or (call, None)
    whole = call["args"]
    if context is not None:  # a rule sees the values: code could hide from it by keeping one
        whole = with_handles(call["name"], whole, asked["args"], context)
    shown: ToolCall = {**call, "args": plain(whole)}
    try:
        payload = _reviewed(policy, shown, running)
    except Exception as error:  # code chose the arguments, so it must not end the agent's run
        _log.exception("the approval rule of %s failed; the call was not made", call["name"])
        why = f"{type(error).__name__}: {error}"
        raise GuestException(
            f"the approval rule of {call['name']} failed, so the call was not made: {why:.500}"
        ) from error
    if payload is None:
        return None
    changed = not same_json(shown["args"], plain(whole))
    if context is not None and not changed:
        payload = _described(payload, call, shown["args"])
    question = {"digest": _digest(call), "payload": _stored(payload)}
    if changed:  # what a rule made is shown, and made
        question["changed"] = {"name": call["name"], "args": storable(shown["args"])}
    return question


def _described(payload: Mapping[str, Any], call: ToolCall, whole: Any) -> dict[str, Any]:
    """A question about a call, with what is shown of handles in place of their values.

    Args:
        payload: The question of a rule, which saw the values.
        call: The call, with stand-ins.
        whole: The arguments that the rule saw.
    """
    shown, seen = str(storable(call["args"])), str(whole)
    requests = [
        {
            **one,
            "args": call["args"],
            **(
                {"description": one["description"].replace(seen, shown)}
                if "description" in one
                else {}
            ),
        }
        for one in payload["action_requests"]
    ]
    return {**payload, "action_requests": requests}


def _reviewed(policy: Policy, shown: ToolCall, running: Running) -> Mapping[str, Any] | None:
    """The question of a policy about a call, which its functions may change; `None` for nothing."""
    request = running.request
    message = AIMessage(content="", tool_calls=[shown])
    (shown_by_policy,) = message.tool_calls
    state = request.state if isinstance(request.state, Mapping) else {}
    seen: Any = {**state, "messages": [*state.get("messages", []), message]}
    config = request.runtime.config
    review = scope(config, f"review:{shown['id']}", [])
    try:
        with entered(config, review):
            policy.after_model(seen, _graph_runtime(request.runtime))
    except GraphInterrupt as asked:
        shown["args"] = shown_by_policy["args"]
        return _request_of(asked)
    return None


def _request_of(asked: GraphInterrupt) -> Mapping[str, Any]:
    """The request for a decision that a policy asks for.

    Raises:
        TypeError: A function of the policy asked another question, or described the call by an
            object that nobody can be shown.
    """
    request: Any = asked.args[0][0].value
    if not isinstance(request, Mapping) or "action_requests" not in request:
        raise TypeError(
            "'when' and 'description' must not call interrupt(): the rule asks for the decision"
        )
    for one in request["action_requests"]:
        if not isinstance(text := one.get("description", ""), str):
            raise TypeError(f"'description' must return text, not a {type(text).__name__}")
    return request


def payload(
    questions: Mapping[str, Mapping[str, Any]], running: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """One request for several decisions.

    Args:
        questions: Questions by request.
        running: Calls that are still at work, as `running_call` describes them.
    """
    asked: dict[str, Any] = {
        key: [item for question in questions.values() for item in question["payload"][key]]
        for key in ("action_requests", "review_configs")
    }
    refused = [question.get("refused") for question in questions.values()]
    if any(refused):
        asked["refused"] = [why and escaped_text(why) for why in refused]
    return {**asked, "still_running": list(running)} if running else asked


def running_call(request: Request) -> dict[str, Any]:
    """Describe a call that is still running to the person who decides on other calls."""
    text = readable_arguments(request)
    return {"name": request.bridge, "input": escaped_text(text[:_SHOWN_CHARS])}


def _stored(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The payload of a question in a form that checkpoints and people can read.

    Raises:
        GuestException: The arguments have no such form.
    """
    for one in payload["action_requests"]:
        key = unstorable_key(one["args"])
        if key is not None:
            raise GuestException(
                f"{one['name']} needs an approval, and no person can be shown the key {key!a} in "
                "its arguments, which has half of a surrogate pair; use well-formed text as keys"
            )
    requests = [
        {**one, "args": storable(one["args"]), **_description(one)}
        for one in payload["action_requests"]
    ]
    return {**payload, "action_requests": requests}


def _description(request: Mapping[str, Any]) -> dict[str, str]:
    """The description of a call in a form that a checkpoint holds, if a rule wrote one."""
    return {"description": escaped_text(request["description"])} if "description" in request else {}


def _graph_runtime(runtime: Any) -> Runtime[Any]:
    """The graph's runtime, from which the tool node made the tool's runtime."""
    return Runtime(
        context=runtime.context,
        store=runtime.store,
        stream_writer=runtime.stream_writer,
        execution_info=runtime.execution_info,
        server_info=runtime.server_info,
    )


def _digest(call: ToolCall) -> str:
    text = json.dumps([call["name"], digestible(call["args"])], sort_keys=True, default=repr)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
