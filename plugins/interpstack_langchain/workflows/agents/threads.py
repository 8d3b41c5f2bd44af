"""The threads of agents that work for workflows: a thread for each step of a run."""

from __future__ import annotations

import uuid
from typing import Final

from interpstack_workflows.api import AgentCall

__all__ = ["run_of_thread", "thread_of"]

#: The beginning of their names.
_BEGINNING: Final = "workflow:"


def thread_of(call: AgentCall) -> str:
    """Return the thread of a step; a new one where the folder of the step has begun anew."""
    name = f"{_BEGINNING}{call.key or uuid.uuid4().hex}"
    return f"{name}@{call.cwd_id}" if call.cwd_id else name


def run_of_thread(thread: str) -> str:
    """Return the run of a workflow to whose step a thread belongs; empty for other threads."""
    if not thread.startswith(_BEGINNING):
        return ""
    return thread.removeprefix(_BEGINNING).partition("/")[0]
