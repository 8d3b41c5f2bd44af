"""Change the script of a run: compare it with the records, then store it under a lease."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import attrs

from interpstack.checks import listed
from interpstack_workflows.errors import LeaseLost, ScriptChanged
from interpstack_workflows.module.arguments import check_arguments
from interpstack_workflows.runs.catalog import metadata_of
from interpstack_workflows.runs.dry_run import ScriptDifference, dry_run
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.run_records import root_place, with_script
from interpstack_workflows.runs.values import Script
from interpstack_workflows.steps.entries import Entry
from interpstack_workflows.stores.records import WorkflowRecord
from interpstack_workflows.stores.store import TakenRun

__all__ = ["change_script", "compared"]

#: Steps that a message names.
_LISTED: Final = 10
#: Seconds for which the change of a script claims its run.
_CHANGE_SECONDS: Final = 15.0
#: Seconds between two checks of the lease of another runner.
_POLL_SECONDS: Final = 0.5


async def compared(
    parts: RunParts,
    record: WorkflowRecord,
    script: Script,
    entries: Sequence[Entry] | None = None,
) -> ScriptDifference:
    """Compare a script with the records of a run; nothing runs.

    Args:
        parts: Has the store.
        record: The run.
        script: The script.
        entries: The records; by default, those that the store has now.
    """
    if entries is None:
        entries = await parts.store.entries(record.id)
    place = root_place(with_script(record, script, await metadata_of(script)))
    return await dry_run(parts, place, record.seed, record.created, entries)


async def change_script(
    parts: RunParts, record: WorkflowRecord, script: Script, *, accept: bool, wait: bool
) -> None:
    """Give a run another script; a run that has completed continues with it.

    Args:
        parts: Has the store.
        record: The run.
        script: The script for the rest of the run.
        accept: Whether it may leave recorded steps unused.
        wait: Whether to wait while the lease of another runner lasts that does not renew it.

    Raises:
        MetadataError: It has no valid metadata.
        ArgumentsError: It does not take the arguments of the run.
        ScriptChanged: It leaves recorded steps unused.
        LeaseLost: Another runner works on the run, or the run has been continued meanwhile.
    """
    if script.source == record.source:
        return
    metadata = await metadata_of(script)
    await check_arguments(metadata, record.args)
    entries = await parts.store.entries(record.id)
    if not accept:
        found = await compared(parts, record, script, entries)
        if not found.same:
            raise ScriptChanged(_changed(record.id, found))
    taken = await _taken(parts, record.id, wait=wait)
    if taken.lease is None:
        raise LeaseLost(f"Another runner works on run {record.id}; cancel it, then change it")
    try:
        if taken.record != record or len(taken.entries) != len(entries):
            raise LeaseLost(
                f"run {record.id} has been continued since it was read, by an answer to it or by "
                "another runner; check the run, then change it"
            )
        changed = with_script(record, script, metadata)
        if record.status == "completed":  # its result is that of another script from now on
            changed = attrs.evolve(changed, status="running")
        await parts.store.update(changed, taken.lease)
    finally:
        await parts.store.release(taken.lease)


async def _taken(parts: RunParts, run_id: str, *, wait: bool) -> TakenRun:
    """Claim the run in order to change it, unless a live runner works on it.

    A runner whose process has died no longer renews its lease. With `wait`, such a lease is
    awaited; a lease that is renewed belongs to a live runner.
    """
    first: float | None = None
    while True:
        taken = await parts.store.take(run_id, "change", _CHANGE_SECONDS)
        first = first or taken.held_until
        if taken.lease is not None or not wait or taken.held_until != first:
            return taken
        await asyncio.sleep(_POLL_SECONDS)


def _changed(run_id: str, found: ScriptDifference) -> str:
    unused, anew = (
        listed(steps, _LISTED, lambda step: f"{step.kind} {step.what!r}", separator="; ")
        for steps in (found.unused, found.anew)
    )
    # Nothing runs in the comparison, so that what the script does after a new step is unknown.
    unless = f", unless it reaches them after a new one ({anew})" if anew else ""
    why = found.error or f"it leaves {len(found.unused)} recorded steps unused{unless}: {unused}"
    return (
        f"The script is not the one that run {run_id} began with, and {why}. Compare them with"
        " diff(run_id, source), or resume with accept_changes=True (--accept-changes)"
    )
