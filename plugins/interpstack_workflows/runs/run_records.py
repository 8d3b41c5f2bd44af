"""Records of runs: made for a new run, changed with its script, shown as a result."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack_workflows.budgets.budget import BudgetLimits
from interpstack_workflows.errors import UnknownRun, WorkflowError
from interpstack_workflows.module.metadata import WorkflowMetadata
from interpstack_workflows.runs.run_budgets import stored_limits
from interpstack_workflows.runs.values import ENDED, ScopePlace, Script, WorkflowResult, phases_of
from interpstack_workflows.stores.records import RUN_ID_TAKES, WorkflowRecord, is_run_id
from interpstack_workflows.stores.store import WorkflowStore

__all__ = [
    "ROOT",
    "TOP_LEVEL_AGENTS",
    "RunOptions",
    "as_result",
    "going_on",
    "new_run",
    "new_run_id",
    "root_place",
    "stored_run",
    "with_script",
]

#: The scope of a run's root.
ROOT: Final = "root"
#: Agents that a run may call whose script has its body at top level, unless its budget says more.
TOP_LEVEL_AGENTS: Final = 1000
#: Runs that a message names.
_LISTED: Final = 10
#: The digits of a ULID, in lower case.
_DIGITS: Final = "0123456789abcdefghjkmnpqrstvwxyz"


@attrs.frozen(kw_only=True)
class RunOptions:
    """Options of a new run.

    Attributes:
        budget: Limits of the run; a number means tokens.
        budgets: Limits of phases and of child workflows, by their names.
        wall_seconds: Seconds that the run may take, including its waits.
        seed: Seed of the random numbers; by default, a random one.
        run_id: The id of the new run; by default, a new one.
    """

    budget: BudgetLimits | Mapping[str, Any] | int | None = None
    budgets: Mapping[str, BudgetLimits | Mapping[str, Any] | int] | None = None
    wall_seconds: float | None = None
    seed: int | None = None
    run_id: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> RunOptions:
        """Return the options by their names.

        Raises:
            TypeError: There is no such option.
            WorkflowError: The id is wrong.
        """
        names = [field.name for field in attrs.fields(cls)]
        for name in options:
            if name not in names:
                raise TypeError(f"a run has no option {name!r:.80}; it has {', '.join(names)}")
        run_id = options.get("run_id")
        if run_id is not None and not is_run_id(run_id):
            raise WorkflowError(f"run_id takes {RUN_ID_TAKES}; got {run_id!r:.80}")
        return cls(**options)


def new_run(
    script: Script, metadata: WorkflowMetadata, args: Any, options: RunOptions, now: float
) -> WorkflowRecord:
    """Return the record of a run that begins.

    Raises:
        WorkflowError: The options are wrong.
    """
    wall, seed = options.wall_seconds, options.seed
    if wall is not None and not (type(wall) in (int, float) and 0 < wall < math.inf):
        raise WorkflowError(f"wall_seconds takes a number above 0, or None; got {wall!r:.80}")
    if seed is not None and type(seed) is not int:
        raise WorkflowError(f"seed takes a whole number, or None; got {seed!r:.80}")
    if options.budgets is not None and not isinstance(options.budgets, Mapping):
        raise WorkflowError(
            f"budgets takes limits by the names of phases and children; got {options.budgets!r:.80}"
        )
    return WorkflowRecord(
        id=new_run_id(now) if options.run_id is None else options.run_id,
        name=script.name or metadata.name,
        source=script.source,
        source_name=script.source_name,
        args=args,
        metadata=dict(metadata.raw),
        seed=secrets.randbits(32) if seed is None else seed,
        created=now,
        updated=now,
        status="running",
        budget=_limits(options, metadata),
        options={"path": _path(script), "deadline": None if wall is None else now + wall},
    )


def _limits(options: RunOptions, metadata: WorkflowMetadata) -> dict[str, Any]:
    """Return the limits of a run; the scripts of Claude Code rely on one of its agents."""
    limits = stored_limits(options.budget, options.budgets)
    return {"agents": TOP_LEVEL_AGENTS, **limits} if metadata.top_level else limits


def new_run_id(now: float) -> str:
    """`run_` with a ULID in lower case: ids in the order of their times."""
    number = (int(now * 1000) << 80) | secrets.randbits(80)
    digits = (_DIGITS[number >> (5 * place) & 31] for place in reversed(range(26)))
    return "run_" + "".join(digits)


def going_on(record: WorkflowRecord, *, reopen: bool) -> WorkflowRecord:
    """Return the record of a run that is worked on from now on.

    Args:
        record: The run.
        reopen: Whether to continue it although it has ended.
    """
    if record.status == "running" or (record.status in ENDED and not reopen):
        return record
    return attrs.evolve(record, status="running", wake_at=None, waiting_for=(), error=None)


async def stored_run(store: WorkflowStore, run_id: str) -> WorkflowRecord:
    """Return a run as its store has it.

    Raises:
        UnknownRun: The store has no such run; the message names the latest ones.
    """
    record = await store.read(run_id)
    if record is None:
        known = ", ".join(run.id for run in await store.runs(limit=_LISTED)) or "none"
        raise UnknownRun(f"The store has no run {run_id!r}; its runs are: {known}")
    return record


def with_script(
    record: WorkflowRecord, script: Script, metadata: WorkflowMetadata
) -> WorkflowRecord:
    """Return the record of a run that continues with another script."""
    options = {**record.options, "path": _path(script) or record.options.get("path")}
    return attrs.evolve(
        record,
        source=script.source,
        source_name=script.source_name,
        metadata=dict(metadata.raw),
        options=options,
    )


def root_place(record: WorkflowRecord) -> ScopePlace:
    """Return the root of a run."""
    path = record.options.get("path")
    file = Path(path) if isinstance(path, str) else None
    return ScopePlace(
        scope=ROOT,
        script=Script(record.source, record.source_name, file, record.name),
        args=record.args,
        names=(record.name,),
        phases=phases_of(record.metadata),
    )


def as_result(record: WorkflowRecord) -> WorkflowResult:
    """Return the result of a run, from its record."""
    return WorkflowResult(
        run_id=record.id,
        status=record.status,
        result=record.result,
        error=record.error,
        waiting_for=tuple(record.waiting_for),
        usage=dict(record.usage),
        census=dict(record.census),
    )


def _path(script: Script) -> str | None:
    return None if script.path is None else str(script.path)
