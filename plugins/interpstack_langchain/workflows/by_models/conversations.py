"""The conversation that a tool was called in, and the names of its runs.

The id of a run is made of the conversation and the call that starts it. So a call that LangGraph
makes again, after an interrupt or a crash, finds its run instead of starting another one, and no
conversation can name a run of another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import attrs
from langchain.tools import ToolRuntime
from langgraph.prebuilt.tool_node import ToolCallRequest

from interpstack import ConfigurationError
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_workflows.api import WorkflowError, canonical

__all__ = ["WorkflowConversation"]

#: Bytes of the digests in an id: of the conversation, and of the call.
_OWNER_BYTES: Final = 8
_CALL_BYTES: Final = 5


@attrs.frozen
class WorkflowConversation:
    """One conversation of the agent.

    Attributes:
        prefix: Begins the ids of its runs.
    """

    prefix: str

    @classmethod
    def of(cls, runtime: ToolRuntime[Any, Any]) -> WorkflowConversation:
        """Return the conversation of a tool's call, by its thread, else by its first message."""
        conf = (runtime.config or {}).get("configurable") or {}
        thread = conf.get("thread_id")
        owner = f"thread:{thread}" if thread is not None else f"message:{_first(runtime.state)}"
        return cls(f"run_{_digest(owner, _OWNER_BYTES)}_")

    def run_id(self, runtime: ToolRuntime[Any, Any], tool: str, inputs: Mapping[str, Any]) -> str:
        """Return the id of the run that a call starts, the same whenever the call is made again.

        Args:
            runtime: The call's.
            tool: Name of the tool.
            inputs: Inputs that decide what is started: JSON.

        Raises:
            ConfigurationError: The call has no id.
        """
        call_id = runtime.tool_call_id
        if not call_id:
            raise ConfigurationError(
                f"{tool} needs the id of its tool call, so that it starts nothing twice; call it"
                " through an agent"
            )
        call: Any = {"name": tool, "args": inputs, "id": call_id, "type": "tool_call"}
        made = ToolCallRequest(tool_call=call, tool=None, state=runtime.state, runtime=runtime)
        siblings = SiblingCalls.of(made)
        name = canonical([siblings.message, siblings.name, dict(inputs)])
        return f"{self.prefix}{_digest(name, _CALL_BYTES)}"

    def owns(self, run_id: str) -> bool:
        """Return whether a run is one of this conversation."""
        return run_id.startswith(self.prefix)

    def check(self, run_id: str) -> str:
        """Return the id of a run as a model wrote it; its last part is enough.

        Raises:
            WorkflowError: It is none of this conversation's.
        """
        wanted = run_id.strip()
        full = wanted if wanted.startswith("run_") else f"{self.prefix}{wanted}"
        if not self.owns(full) or len(full) > 100:
            raise WorkflowError(f"this conversation has no run {wanted!r:.100}")
        return full


def _first(state: Any) -> str:
    """Return the id of the first message of a conversation without a thread."""
    messages = state.get("messages") or [] if isinstance(state, Mapping) else []
    return str(getattr(messages[0], "id", "")) if messages else ""


def _digest(text: str, size: int) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
