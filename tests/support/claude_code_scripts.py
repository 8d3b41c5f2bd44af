"""Scripts as people have them for Claude Code, and the agents that they call in tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interpstack_workflows.api import AgentAnswer, AgentCall, WorkflowUsage

__all__ = ["SCRIPTS", "Team", "bare"]

#: The scripts, by the names of their files.
SCRIPTS = Path(__file__).parents[1] / "plugins" / "workflows" / "dialect" / "scripts"


def bare(body: str, name: str = "tested") -> str:
    """A script with this body at top level, from its second line on."""
    return f"export const meta = {{ name: '{name}', description: 'tested' }}\n{body}"


class Team:
    """An agent that answers by a function of the call, notes its calls, and may fail.

    Args:
        answer: The answer to a call; an exception is raised. By default, the prompt in upper case.
        tokens: Tokens that each call uses.
    """

    def __init__(self, answer: Callable[[AgentCall], Any] | None = None, tokens: int = 0) -> None:
        self._answer = answer or (lambda call: call.prompt.upper())
        self._tokens = tokens
        self.calls: list[AgentCall] = []
        self.most_at_once = 0
        self._at_once = 0

    @property
    def prompts(self) -> list[str]:
        """The prompts, in the order of the calls."""
        return [call.prompt for call in self.calls]

    async def __call__(self, call: AgentCall) -> AgentAnswer:
        self.calls.append(call)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        await asyncio.sleep(0)
        self._at_once -= 1
        value = self._answer(call)
        if isinstance(value, Exception):
            raise value
        return AgentAnswer(value, WorkflowUsage(output_tokens=self._tokens))
