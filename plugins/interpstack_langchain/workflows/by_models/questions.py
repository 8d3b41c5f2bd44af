"""Questions of runs as interrupts of the agent, each answered once.

LangGraph makes the tool's call again for an answer, and gives it the answers of all its interrupts
in their order. By then other answers may have come, so an answer names the question that it is for;
one for a question that is no longer open is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langgraph.types import interrupt

from interpstack.checks import shown
from interpstack_agents import escaped_text
from interpstack_workflows.api import WorkflowRecord, is_wait_id

__all__ = ["ask"]

_TYPE: Final = "workflow_questions"
_FORM: Final = "resume with {'answers': {id: answer}}, an answer for each question by its id"


def ask(
    record: WorkflowRecord, questions: Sequence[Mapping[str, Any]], fault: str = ""
) -> tuple[dict[str, Any], str]:
    """Interrupt the agent with the open questions of a run.

    Args:
        record: The run.
        questions: The questions and approvals, as the run shows them.
        fault: Why an earlier answer was refused.

    Returns:
        The answers by question, and what was wrong with the value that the agent was resumed with;
        empty if nothing was. An answer to a question that is no longer open is passed over.
    """
    asked = {
        "type": _TYPE,
        "run": record.id,
        "workflow": record.name,
        "questions": _escaped(questions),
        "expected": _FORM,
        **({"fault": fault} if fault else {}),
    }
    given = interrupt(asked)
    answers = given.get("answers") if isinstance(given, Mapping) else None
    if not (isinstance(answers, Mapping) and answers):
        return {}, f"the answer had another form, and was passed over: {shown(given)}"
    wanted = {one["id"]: one for one in questions}
    unknown = [key for key in answers if key not in wanted and not is_wait_id(str(key))]
    fault = f"there is no question {shown(unknown[0])}" if unknown else ""
    found = {key: _chosen(wanted[key], value) for key, value in answers.items() if key in wanted}
    return found, fault


def _escaped(tree: Any) -> Any:
    """A tree of plain data whose texts a checkpoint holds as the person saw them."""
    if isinstance(tree, str):
        return escaped_text(tree)
    if isinstance(tree, Mapping):
        return {escaped_text(key): _escaped(item) for key, item in tree.items()}
    return [*map(_escaped, tree)] if isinstance(tree, list | tuple) else tree


def _chosen(question: Mapping[str, Any], answer: Any) -> Any:
    """The answer to a question; for a choice as it was shown, the choice itself."""
    choices = (question.get("options") or {}).get("choices")
    return next((one for one in choices or () if _escaped(one) == answer), answer)
