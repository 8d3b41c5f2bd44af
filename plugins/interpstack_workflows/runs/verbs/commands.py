"""Commands of scripts: begun on record, run once, their output checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.scopes.scope import OpenRequest
from interpstack_workflows.sandbox.sandbox import checked_output

__all__ = ["run_command"]


async def run_command(
    parts: RunParts, opened: OpenRequest, begin: Callable[[], Awaitable[None]]
) -> dict[str, Any]:
    """Run the command of a request.

    Args:
        parts: Has the sandboxes.
        opened: The request.
        begin: Records that the command begins, and waits until that is stored.

    Returns:
        The output, as `checked_output` returns it.

    Raises:
        StepFailed: There is no such profile, or an earlier stay of the run began the command and
            nobody knows whether it ended.
        Exception: The sandbox's own error, or that of its wrong answer.
    """
    profile = opened.request.profile
    if opened.started is not None:
        raise StepFailed(
            f"the run stopped while the command {opened.request.request.command!r:.100} was"
            f" running in {profile!r:.100}; it is unknown whether it ended. Check what it did, then"
            " run it again (resume with retry_failed), or let the script catch this error",
            "ExecInterrupted",
            {"profile": profile, "startedAt": opened.started.value["now"]},
        )
    sandbox = parts.sandboxes.get(profile)
    if sandbox is None:
        known = ", ".join(sorted(parts.sandboxes)) or "none"
        raise StepFailed(
            f"Unknown sandbox profile {profile!r}; the runner has: {known}", "UnknownProfile"
        )
    await begin()
    return checked_output(profile, await sandbox(opened.request.request), parts.output_bytes)
