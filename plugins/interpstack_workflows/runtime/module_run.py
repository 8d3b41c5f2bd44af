"""One run of a workflow module: messages of the engine in, progress of the module out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from interpstack import MODULE, GuestError, Progress, Settlement, encode
from interpstack import Request as EngineRequest
from interpstack_workflows.errors import WorkflowModuleError
from interpstack_workflows.module.forms import TopLevelScript
from interpstack_workflows.runtime.boundary import (
    Call,
    Complete,
    FailedResolution,
    ModuleBudget,
    ModuleProgress,
    Request,
    Resolution,
    ValueWithBudget,
    WorkflowModuleInput,
    WorkflowModuleOutput,
)
from interpstack_workflows.runtime.requests import (
    budget_pair,
    read_calls,
    read_request,
    settlement,
)
from interpstack_workflows.runtime.sources import CELL_NAME, ENTRY, module_sources, restricted
from interpstack_workflows.runtime.texts import parsed

__all__ = ["UNDECLARED", "ModuleRun"]

_START: Final = "workflow.start"
#: `_loading` after the poll in which the module was evaluated.
_FIRST_POLL: Final = 3
_CALLS, _RESULT, _FAILED = "workflow.calls", "workflow.result", "workflow.failed"
#: The beginning of the error of a module that cannot be declared.
UNDECLARED: Final = "failed to declare workflow module: "
#: Prefixes of errors, by the stage at which a module failed.
_PREFIXES: Final = {
    "declare": UNDECLARED,
    "evaluate": "failed to evaluate workflow module: ",
    "load": "workflow module evaluation rejected: ",
    "export": "",
    "run": "workflow module rejected: ",
    "result": "failed to convert workflow result: ",
}


class ModuleRun:
    """The host's side of one module: which requests are open, and how the module ended.

    It neither polls nor waits; `settlements` and `read` surround each poll of the engine.

    Args:
        start: The module, and what it is started with.
        value_bytes: Bytes that one answer may have.
        script: The script, if its body stands at top level, so that its verbs behave as in Claude
            Code; `None` for a module with a default export.
    """

    def __init__(
        self, start: WorkflowModuleInput, value_bytes: int, script: TopLevelScript | None = None
    ) -> None:
        self._start = start
        self._script = script
        self._most = value_bytes
        self._open: dict[str, int] = {}
        self._budget: ModuleBudget | None = None
        self._answers: list[Settlement] = []
        self._stage = ""
        self._dropped = 0
        self._properties = "{}"
        self._result: str | None = None
        self._value: Any = None
        self._loading = 0  # polls since the module was handed over, and one more
        self._ended = False
        #: Whether the module ended because it cannot be declared or evaluated.
        self.failed_at_start = False
        #: Whether it ended before its default export began, or without waiting for anything.
        self.is_unusable = False

    @property
    def awaiting(self) -> tuple[str, ...]:
        """Ids of the requests that are open."""
        return tuple(self._open)

    @property
    def needs_poll(self) -> bool:
        """Whether there are answers that were not delivered to the guest."""
        return bool(self._answers) and not self._ended

    def resolve(self, number: str, resolution: Resolution) -> bool:
        """Answer a request at the next poll.

        Returns:
            Whether there is such a request.
        """
        budget = (
            resolution.budget
            if isinstance(resolution, ValueWithBudget | FailedResolution)
            else None
        )
        if budget is not None:
            self._budget = budget
        engine_id = self._open.pop(number, None)
        if engine_id is None:
            return False
        self._answers.append(settlement(engine_id, resolution, self._take_budget(), self._most))
        return True

    def _take_budget(self) -> ModuleBudget | None:
        budget, self._budget = self._budget, None
        return budget

    def settlements(self) -> list[Settlement]:
        """Return the answers for the next poll."""
        answers, self._answers = self._answers, []
        return answers

    @property
    def poll_seconds(self) -> float | None:
        """Seconds that the guest may compute at a poll."""
        return self._start.poll_seconds

    def read(self, progress: Progress) -> ModuleProgress:
        """Return the progress of the module in one of the engine.

        Raises:
            EngineFailure: The guest's memory is damaged.
        """
        calls, requests = list(self._read_calls(progress)), list(self._read_requests(progress))
        self._loading += self._loading > 0
        error = self._error(progress)
        if error is not None:
            self._ended = True
        return ModuleProgress(
            calls=calls,
            requests=requests,
            complete=None if error is not None else self._complete(progress),
            error=error,
            awaiting=self.awaiting,
            cpu_seconds=progress.cpu_seconds,
            rejected=[self._placed(reason) for reason in progress.rejected],
        )

    # -- what the guest says ---------------------------------------------------------------

    def _read_calls(self, progress: Progress) -> Iterator[Call]:
        for notification in progress.notifications:
            if notification.bridge == _CALLS:
                yield from read_calls(notification.wire)
            elif notification.bridge == _RESULT:
                self._result, self._dropped = notification.wire
            elif notification.bridge == _FAILED:
                self._stage, self._dropped, self._properties = notification.wire
        for request in progress.requests:  # messages beyond the number of calls of a cell
            if request.bridge == _CALLS:
                yield from read_calls(request.wire)
                self._answers.append(Settlement(request.id, "null"))

    def _read_requests(self, progress: Progress) -> Iterator[Request]:
        for request in progress.requests:
            if request.bridge == _START:
                self._answers.append(Settlement(request.id, self._begin()))
            elif request.bridge == MODULE:
                self._answers.append(self._load(request))
            elif request.bridge != _CALLS:
                try:
                    read = read_request(request.bridge, request.wire)
                except ValueError as error:
                    self._answers.append(
                        Settlement(request.id, error=GuestError("TypeError", str(error)))
                    )
                    continue
                self._open[read.id] = request.id
                yield read

    def _begin(self) -> str:
        start = {
            "args": json.dumps(self._start.args),
            "budget": budget_pair(self._start.budget),
            "requests": self._start.requests,
            "topLevel": self._script is not None,
        }
        return json.dumps(encode(start, self._most))

    def _load(self, request: EngineRequest) -> Settlement:
        if request.wire != ENTRY or self._loading:
            refusal = f"{restricted(self._start)}; there is no {str(request.wire)[:100]!r}"
            return Settlement(request.id, error=GuestError("ModuleNotFound", refusal))
        self._loading = 1
        entry = self._start.source_name
        return Settlement(request.id, json.dumps(entry), modules=self._sources())

    def _sources(self) -> Mapping[str, str]:
        sources = module_sources(self._start)
        if self._script is None:
            return sources
        return {**sources, self._start.source_name: self._script.module}

    # -- how it ends -----------------------------------------------------------------------

    def _complete(self, progress: Progress) -> Complete | None:
        if progress.completion is None:
            return None
        self._ended = True
        return Complete(WorkflowModuleOutput(self._value, self._dropped))

    def _error(self, progress: Progress) -> WorkflowModuleError | None:
        if progress.failure is not None:
            return self._failed(progress.failure, "")
        if progress.exhausted:
            seconds = f"{self._start.poll_seconds:g}"
            message = f"the workflow computed for {seconds} seconds without waiting"
            return self._failed(GuestError("Timeout", message), "")
        if progress.completion is None:
            return None
        if progress.completion.error is not None:
            error = progress.completion.error
            return self._failed(error, self._failing_stage(error))
        try:
            self._value = parsed(self._result or "")
        except ValueError as error:
            return self._failed(GuestError("TypeError", str(error)), "result")
        return None

    def _failing_stage(self, error: GuestError) -> str:
        if self._stage != "load":
            return self._stage
        if error.name in ("SyntaxError", "ModuleNotFound"):
            return "declare"
        return "evaluate" if self._loading <= _FIRST_POLL else "load"

    def _failed(self, error: GuestError, stage: str) -> WorkflowModuleError:
        self.failed_at_start = stage in ("declare", "evaluate")
        self.is_unusable = stage not in ("run", "result")
        text = error.message
        if error.name == "ModuleNotFound" and stage == "declare":
            text = f"{restricted(self._start)}; {text}"
        elif stage in ("declare", "evaluate", "load", "run") and error.name not in ("", "Error"):
            text = f"{error.name}: {text}"
        if error.place is not None:
            place = attrs.evolve(error.place, line=self._line(error.place.line))
            text += f"\n{place.excerpt()}"
        stack = self._placed(_script_frames(error.stack))
        if stack and stage not in ("export", "result"):
            text += f"\n{stack}"
        return WorkflowModuleError(
            _PREFIXES.get(stage, "") + text,
            name=error.name,
            stack=stack,
            data=json.loads(self._properties),
        )

    def _line(self, line: int) -> int:
        """Return the line of the script that a line of its module was."""
        return line if self._script is None else self._script.moved.get(line, line)

    def _placed(self, stack: str) -> str:
        """Return a stack trace with the lines of the script."""
        if self._script is None:
            return stack
        frame = rf"(\b{re.escape(self._start.source_name)}:)(\d+)"
        return re.sub(frame, lambda found: f"{found[1]}{self._line(int(found[2]))}", stack)


def _script_frames(stack: str) -> str:
    """Return a stack trace without the frame of the cell, which the engine may show by its name."""
    return "\n".join(line for line in stack.splitlines() if f"({CELL_NAME}:" not in line)
