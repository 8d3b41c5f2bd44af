"""Dry runs: which steps of a run a changed script would find recorded, before anything is spent."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack_workflows.errors import WorkflowModuleError
from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.parts import RunParts
from interpstack_workflows.runs.scopes.crossing import module_input, resolution
from interpstack_workflows.runs.scopes.identities import identity
from interpstack_workflows.runs.scopes.replaying import RecordedAnswers
from interpstack_workflows.runs.values import ScopePlace
from interpstack_workflows.runs.verbs.children import child_place
from interpstack_workflows.runtime.boundary import FailedResolution, Resolution, ValueResolution
from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.steps.names import StepNames

__all__ = ["ScriptDifference", "StepPreview", "dry_run"]

#: Steps without a record that are listed.
_MAX_ANEW: Final = 10_000
#: Inputs by which a reader recognizes a step.
_DESCRIBING: Final = ("prompt", "ref", "question", "signal", "label", "profile", "durationMs")
_WHAT_CHARS: Final = 200


@attrs.frozen(kw_only=True)
class StepPreview:
    """One step of a comparison.

    Attributes:
        scope: The scope of the run that the step belongs to.
        name: Identifies the step in its scope.
        kind: The kind of the step: `agent`, `workflow`, `sleep` and so on.
        what: The prompt, the name or another input by which a reader recognizes the step.
    """

    scope: str
    name: str
    kind: str
    what: str


@attrs.frozen(kw_only=True)
class ScriptDifference:
    """The comparison of a script with the records of a run.

    Attributes:
        answered: Steps with a record, whose answers would be used without a call.
        anew: The first steps without a record, which would run; more may follow.
        unused: Recorded steps that the script does not reach before a step without a record.
        error: The error with which the script would end; empty if it would not fail.
        ends: Whether the script ends with the recorded answers alone.
    """

    answered: Sequence[StepPreview] = ()
    anew: Sequence[StepPreview] = ()
    unused: Sequence[StepPreview] = ()
    error: str = ""
    ends: bool = False

    @property
    def same(self) -> bool:
        """Whether the script continues where the run stopped: every record is used."""
        return not self.unused and not self.error


async def dry_run(
    parts: RunParts, place: ScopePlace, seed: int, now: float, entries: Iterable[Entry]
) -> ScriptDifference:
    """Run a script with recorded answers only; nothing begins.

    Args:
        parts: What all runs of a runner share.
        place: The root, with the script to compare.
        seed: The seed of the run.
        now: When the run began.
        entries: The records of the run.
    """
    run = _DryRun(parts, seed, entries)
    try:
        run.ends = await run.scope(place, now) is not None
    except WorkflowModuleError as error:
        run.error = f"{error.name}: {error}" if error.name else str(error)
    return ScriptDifference(
        answered=tuple(run.answered),
        anew=tuple(run.anew),
        unused=tuple(run.unused()),
        error=run.error,
        ends=run.ends,
    )


class _DryRun:
    def __init__(self, parts: RunParts, seed: int, entries: Iterable[Entry]) -> None:
        self._parts = parts
        self._seed = seed
        self._entries: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            self._entries[entry.scope].append(entry)
        self._left: dict[str, RecordedAnswers] = {}
        self._covered: set[str] = set()  # scopes of children whose results are recorded
        self.answered: list[StepPreview] = []
        self.anew: list[StepPreview] = []
        self.error = ""
        self.ends = False

    def unused(self) -> Iterable[StepPreview]:
        """Records of all scopes that no request has asked for."""
        for scope, entries in self._entries.items():
            if scope.startswith(tuple(self._covered)):
                continue
            left = self._left.get(scope) or RecordedAnswers(entries)
            yield from (_recorded(scope, step) for step in left.unused())

    async def scope(self, place: ScopePlace, now: float) -> ValueResolution | None:
        """Run one scope; returns its result, or `None` if something is missing for it."""
        answers = self._left[place.scope] = RecordedAnswers(self._entries.get(place.scope, ()))
        given = module_input(place, self._seed, None, self._parts.modules)
        module = await self._parts.runtime.open_module(given)
        scope = _DryScope(place, answers, StepNames(place.scope))
        settled: list[tuple[str, Resolution]] = []
        try:
            while True:
                progress = await module.advance(now, settled)
                if progress.error is not None:
                    raise progress.error
                if progress.complete is not None:
                    return ValueResolution(progress.complete.output.result)
                settled = [
                    (request.id, answer)
                    for request in progress.requests
                    if (answer := await self._open(scope, request, now)) is not None
                ]
                if (replayed := answers.take()) is not None:
                    now = max(now, replayed.now)
                    for request_id, step in replayed.answers:
                        self.answered.append(scope.open.pop(request_id))
                        self._covered.add(f"{place.scope}/{step.name}")
                        settled.append((request_id, resolution(step, replayed.budget)))
                if not settled:
                    return None
        finally:
            await module.aclose()

    async def _open(self, scope: _DryScope, request: Any, now: float) -> Resolution | None:
        """Return the answer of a request without a record, if it is a child that needs none."""
        kind, inputs, key = identity(request)
        name, _ = scope.names.name(kind, inputs, key)
        shown = StepPreview(scope=scope.place.scope, name=name, kind=kind, what=_what(inputs))
        if scope.answers.open(request.id, name):
            scope.open[request.id] = shown
            return None
        started = scope.answers.started(name)
        if kind == "workflow":
            began = started.value if started is not None else None
            try:
                place = await child_place(self._parts, scope.place, request, name, began)
                if (value := await self.scope(place, began["now"] if began else now)) is not None:
                    return value
            except (StepFailed, WorkflowModuleError) as error:
                return FailedResolution(str(error), getattr(error, "name", "") or "Error")
            if began is not None:
                return None  # its own steps are listed
        if len(self.anew) < _MAX_ANEW:
            self.anew.append(shown)
        return None


@attrs.frozen
class _DryScope:
    place: ScopePlace
    answers: RecordedAnswers
    names: StepNames
    open: dict[str, StepPreview] = attrs.field(factory=dict)


def _recorded(scope: str, step: StepRecord) -> StepPreview:
    try:
        inputs = json.loads(step.signature)
    except ValueError:
        inputs = {}
    what = _what(inputs) if isinstance(inputs, dict) else ""
    return StepPreview(scope=scope, name=step.name, kind=step.kind, what=what)


def _what(inputs: Mapping[str, Any]) -> str:
    """Return the input by which a reader recognizes a step, on one line."""
    what = next((inputs[name] for name in _DESCRIBING if inputs.get(name) is not None), "")
    return " ".join(str(what).split())[:_WHAT_CHARS]
