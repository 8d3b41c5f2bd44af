"""Questions about calls from code, in the requests of a run, and their answers for the next run.

PydanticAI knows the calls of the model alone: it asks for the approval of an eval, with the calls
from code that wait in the metadata of that request. The decisions about them travel back in the
metadata of its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    ToolApproved,
    ToolDenied,
    UserError,
)

from interpstack import ConfigurationError
from interpstack.checks import shown
from interpstack_agents import (
    Approved,
    CallQuestion,
    Decision,
    DecisionRejected,
    Denied,
    check_decided,
)

__all__ = ["Answer", "answers", "decision_of", "decisions_in", "metadata_of", "questions"]

#: The item of the metadata that is the interpreter's.
_ITEM: Final = "interpstack"
#: What a person says to a question.
Answer: TypeAlias = bool | ToolApproved | ToolDenied


def questions(requests: DeferredToolRequests) -> list[CallQuestion]:
    """The calls from code that wait for a decision, in order.

    Args:
        requests: The output of a run.

    Returns:
        Questions with an `id`, the name of the `tool` and the `args` of the call.
    """
    return [question for _, found in _evals(requests) for question in found]


def answers(
    requests: DeferredToolRequests,
    decisions: Mapping[str, Answer],
    results: DeferredToolResults | None = None,
) -> DeferredToolResults:
    """The results by which the next run resumes the evals, as `deferred_tool_results` takes them.

    Args:
        requests: The output of the run that ended.
        decisions: For the id of each question `True`, `ToolApproved` with or without other
            arguments, `False`, or `ToolDenied` with a message that code catches.
        results: Results for the other requests of the run, which are not of the interpreter; the
            results for the evals are added to them.

    Raises:
        UserError: A decision is missing, for no question, or not one of these objects.
    """
    made = DeferredToolResults() if results is None else results
    try:
        check_decided(questions(requests), decisions)
    except DecisionRejected as error:
        raise UserError(str(error)) from error
    for call_id, found in _evals(requests):
        given = {question.id: _as_json(decisions[question.id]) for question in found}
        made.approvals[call_id] = True
        made.metadata[call_id] = {**made.metadata.get(call_id, {}), _ITEM: given}
    return made


def metadata_of(found: list[CallQuestion]) -> dict[str, Any]:
    """The metadata of a request for an eval that waits for decisions, or behind one that does."""
    return {_ITEM: {"questions": [question.to_dict() for question in found]}}


def decisions_in(metadata: Any) -> dict[str, Decision]:
    """The decisions that the metadata of a result hold.

    Raises:
        UserError: They are not decisions.
    """
    given = metadata.get(_ITEM, {}) if isinstance(metadata, Mapping) else {}
    if not isinstance(given, Mapping):
        raise UserError(f"decisions are a mapping of the ids of questions; got {shown(given)}")
    return {str(key): decision_of(value) for key, value in given.items()}


def decision_of(given: Any) -> Decision:
    """A decision, from PydanticAI's objects or their JSON form.

    Raises:
        UserError: It is none.
    """
    data = given if isinstance(given, Mapping) else _as_json(given)
    if data.get("kind") == "tool-approved":
        args = data.get("override_args")
        if args is None or isinstance(args, Mapping):
            return Approved(args)
    if data.get("kind") == "tool-denied" and isinstance(data.get("message"), str):
        return Denied(data["message"])
    raise _no_decision(given)


def _as_json(given: Answer) -> dict[str, Any]:
    if given is True or given is False:
        given = ToolApproved() if given else ToolDenied()
    if isinstance(given, ToolApproved):
        return {"kind": given.kind, "override_args": given.override_args}
    if isinstance(given, ToolDenied):
        return {"kind": given.kind, "message": given.message}
    raise _no_decision(given)


def _no_decision(given: Any) -> UserError:
    return UserError(f"a decision is True, False, ToolApproved or ToolDenied; got {shown(given)}")


def _evals(requests: DeferredToolRequests) -> list[tuple[str, list[CallQuestion]]]:
    """The evals among some requests, by the ids of the model's calls, with their questions."""
    found = []
    for call in requests.approvals:
        item = requests.metadata.get(call.tool_call_id, {}).get(_ITEM)
        if isinstance(item, Mapping) and isinstance(item.get("questions"), list):
            try:
                asked = [CallQuestion.from_dict(data) for data in item["questions"]]
            except ConfigurationError as error:
                raise UserError(f"the questions of {call.tool_call_id!r} are damaged") from error
            found.append((call.tool_call_id, asked))
    return found
