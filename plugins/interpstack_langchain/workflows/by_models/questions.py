"""Questions of runs as interrupts of the agent, each answered once.

LangGraph makes the tool's call again for an answer, and gives it the answers of all its interrupts
in their order. By then other answers may have come, so an answer names the question that it is for;
one for a question that is no longer open is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langgraph.types import interrupt

from interpstack_workflows.api import WorkflowRecord

__all__ = ["ask"]

_TYPE: Final = "workflow_questions"
_FORM: Final = "resume with {'answers': {id: answer}}, an answer for each question by its id"


def ask(
    record: WorkflowRecord, questions: Sequence[Mapping[str, Any]], fault: str = ""
) -> dict[str, Any]:
    """Interrupt the agent with the open questions of a run.

    Args:
        record: The run.
        questions: The questions and approvals, as the run shows them.
        fault: Why an earlier answer was refused.

    Returns:
        The answers by question; empty if the value that the agent was resumed with has none for
        these questions.
    """
    shown = {
        "type": _TYPE,
        "run": record.id,
        "workflow": record.name,
        "questions": [dict(one) for one in questions],
        "expected": _FORM,
        **({"fault": fault} if fault else {}),
    }
    given = interrupt(shown)
    answers = given.get("answers") if isinstance(given, Mapping) else None
    if not isinstance(answers, Mapping):
        return {}
    wanted = {one["id"] for one in questions}
    return {key: value for key, value in answers.items() if key in wanted}
