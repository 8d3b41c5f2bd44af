"""The text for the system prompt: verbs, agents, and workflows that are known by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Final

from interpstack_langchain.workflows.by_models.lines import fitted, line
from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_workflows.api import Agent, WorkflowMetadata

__all__ = ["section"]

#: Read when this is imported: an event loop must not wait for files.
_TEXTS: Final = files("interpstack_langchain") / "workflows" / "by_models"
_PROMPT, _WRITING = (
    (_TEXTS / name).read_text("utf-8").strip() for name in ("prompt.md", "writing.md")
)
_ISOLATION: Final = (_TEXTS / "isolation.md").read_text("utf-8").strip()
#: Characters of a description, and of the schema of arguments.
_DESCRIPTION: Final = 300
_SCHEMA: Final = 400


def section(
    options: WorkflowOptions,
    agents: Mapping[str, Agent],
    workflows: Mapping[str, WorkflowMetadata],
    *,
    isolates: bool = False,
) -> str:
    """Return the section; agents and workflows that do not fit are counted.

    Args:
        options: The names of tools, the limits, and whether the model writes workflows.
        agents: The agents by name.
        workflows: The workflows that may be started by name.
        isolates: Whether agents that work in a folder can be isolated.
    """
    verbs = {verb: options.tool(verb) for verb in ("check", "start", "status", "result", "stop")}
    send = (
        f" `{options.tool('send')}` answers questions and sends signals." if options.sends else ""
    )
    text = _PROMPT.format(**verbs, send=send, limits=_limits(options))
    if options.writes:
        text += "\n" + _WRITING.format()
        if isolates and any(agent.takes_cwd for agent in agents.values()):
            text += "\n" + _ISOLATION
    left = options.max_prompt_chars - len(text)
    parts = [text]
    if options.writes:
        lines = list(_agents(agents, isolates))
        share = left if not workflows else left // 2
        parts += _part("Agents, by `agentType`:", lines, share, "- … and {count} more agents")
        left = options.max_prompt_chars - sum(len(part) + 1 for part in parts)
    more = "- … and {count} more workflows"
    parts += _part(f"Workflows for `{verbs['start']}(name=…)`:", _workflows(workflows), left, more)
    return "\n".join(parts)


def _part(title: str, lines: Iterator[str] | list[str], chars: int, more: str) -> list[str]:
    given = list(lines)
    if not given:
        return []
    return [f"\n{title}\n", *fitted(given, chars - len(title) - len(more) - 4, more)]


def _agents(agents: Mapping[str, Agent], isolates: bool) -> Iterator[str]:
    for name, agent in agents.items():
        described = line(agent.description, _DESCRIPTION)
        usual = " (called where no agentType is given)" if name == "default" else ""
        usual += " (takes isolation)" if isolates and agent.takes_cwd else ""
        yield f"- `{line(name, 80)}`{usual}" + (f": {described}" if described else "")


def _workflows(workflows: Mapping[str, WorkflowMetadata]) -> Iterator[str]:
    for name, known in workflows.items():
        when = f" {known.when_to_use}" if known.when_to_use else ""
        text = f"- `{line(name, 80)}`: {line(known.description + when, _DESCRIPTION)}"
        if known.args_schema is not None:
            text += f" Arguments: `{line(known.args_schema, _SCHEMA)}`"
        yield text


def _limits(options: WorkflowOptions) -> str:
    budget = options.budget.to_json()
    limits = [f"{options.max_running} runs at once"]
    limits += [f"{amount:g} {kind} a run" for kind, amount in budget.items()]
    if options.wall_seconds is not None:
        limits.append(f"{options.wall_seconds:g} s a run")
    return ", ".join(limits)
