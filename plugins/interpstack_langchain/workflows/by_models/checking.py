"""Report on a workflow before it runs: its metadata, its faults, and the calls it would make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from interpstack_langchain.workflows.by_models.lines import fitted, line
from interpstack_workflows.api import Rehearsal, ScriptFault

__all__ = ["report"]

#: Characters of a report.
_CHARS: Final = 4000
#: Prompts of an agent that are shown, and characters of each.
_PROMPTS: Final = 2
_PROMPT_CHARS: Final = 100


def report(found: Rehearsal, name: str) -> tuple[bool, str]:
    """Return whether a workflow may run as it is, and the report on it.

    Args:
        found: Its rehearsal.
        name: The name of the source in places.
    """
    faults = [f"error: {_placed(one, name)}" for one in found.faults]
    if found.error is not None and not _is_reported(found.error, found):
        faults.append(
            f"error: {_placed(found.error, name)} (with made-up answers of agents and people)"
        )
    lines = [*faults, *_steps(found)]
    if found.stopped:
        lines.append(f"the dry run was stopped {found.stopped}; it may continue beyond that")
    errors = "1 error" if len(faults) == 1 else f"{len(faults) or 'no'} errors"
    return not faults, "\n".join(
        [f"{errors}; nothing has run", *fitted(lines, _CHARS, "… {count} more lines")]
    )


def _is_reported(error: ScriptFault, found: Rehearsal) -> bool:
    """Return whether the error of the script repeats a reported fault."""
    return any(one.message in error.message for one in found.faults)


def _placed(fault: ScriptFault, name: str) -> str:
    column = f":{fault.column}" if fault.column else ""
    place = f"{name}:{fault.line}{column}: " if fault.line else f"{name}: "
    return place + line(fault.message, 500)


def _steps(found: Rehearsal) -> Iterator[str]:
    """Yield the calls that the script would make, by agent or kind, and the phases."""
    if found.phases:
        shown = ", ".join(line(one, 60) for one in found.phases[:20])
        yield f"phases: {shown}"
    groups: dict[tuple[str, str | None], list[Any]] = {}
    for step in found.steps:
        groups.setdefault((step.kind, step.agent), []).append(step)
    for (kind, agent), steps in groups.items():
        what = Counter(line(step.what, _PROMPT_CHARS) for step in steps)
        shown = ", ".join(repr(one) for one in list(what)[:_PROMPTS])
        more = ", …" if len(what) > _PROMPTS else ""
        called = f"agent {line(agent, 60)}" if agent is not None else kind
        times = "once" if len(steps) == 1 else f"{len(steps)} times"
        yield f"would call {called} {times}: {shown}{more}"
    if not found.steps:
        yield "would call nothing"
