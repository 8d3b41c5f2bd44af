"""Workflow modules on an engine: driven in batches, or step by step."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from functools import partial

import attrs

from interpstack import (
    Capability,
    Cell,
    ConfigurationError,
    Engine,
    Execution,
    Progress,
    Realm,
    run_guest,
    to_end,
)
from interpstack_javascript import JAVASCRIPT
from interpstack_workflows.errors import MetadataError, WorkflowModuleError
from interpstack_workflows.module.forms import top_level_script
from interpstack_workflows.runtime.boundary import (
    Call,
    Complete,
    ModuleProgress,
    Pending,
    Request,
    Resolution,
    WorkflowModuleInput,
)
from interpstack_workflows.runtime.module_run import UNDECLARED, ModuleRun
from interpstack_workflows.runtime.realms import GuardedRealms
from interpstack_workflows.runtime.sources import CELL, CELL_NAME

__all__ = ["ModuleExecution", "WorkflowExecution", "WorkflowRuntime"]


class WorkflowRuntime:
    """Starts workflow modules on an engine.

    Args:
        engine: An engine whose guest language is JavaScript and that has modules.

    Raises:
        ConfigurationError: The engine has another language, or no modules.
    """

    def __init__(self, engine: Engine) -> None:
        name = engine.name
        if engine.runs.language != JAVASCRIPT.name:
            raise ConfigurationError(
                f"workflows are JavaScript modules, and the engine {name!r} runs "
                f"{engine.runs.language}; choose quickjs, v8 or node"
            )
        if Capability.MODULES not in engine.capabilities:
            raise ConfigurationError(
                f"workflows are modules, and the engine {name!r} has none; choose quickjs, v8 or "
                "node"
            )
        self._realms = GuardedRealms(engine)

    def start_module(self, start: WorkflowModuleInput) -> WorkflowExecution:
        """Start a module, and run it until it has been evaluated or waits.

        Raises:
            WorkflowModuleError: It cannot be declared or evaluated.
            EngineFailure: The engine broke.
        """
        opened = WorkflowExecution(*self._open(start))
        try:
            opened.begin()
        except BaseException:
            opened.close()
            raise
        return opened

    def check_module(self, start: WorkflowModuleInput) -> None:
        """Run a module until it first waits for an answer, which it does not get.

        Its default export may fail here: it has neither the right arguments nor answers.

        Raises:
            WorkflowModuleError: It cannot be declared or evaluated, has no default export, or
                computes for too long; it would fail in every run.
            EngineFailure: The engine broke.
        """
        opened = WorkflowExecution(*self._open(start))
        try:
            opened.check()
        finally:
            opened.close()

    async def open_module(self, start: WorkflowModuleInput) -> ModuleExecution:
        """Prepare a module, whose code runs at the first `ModuleExecution.advance`.

        Raises:
            WorkflowModuleError: It has parts of both forms of a workflow.
            EngineFailure: The engine broke.
        """
        return ModuleExecution(*await run_guest(partial(self._open, start), lambda: None))

    def _open(self, start: WorkflowModuleInput) -> tuple[Realm, Execution, ModuleRun]:
        if not isinstance(start, WorkflowModuleInput):
            raise ConfigurationError(
                f"a module starts from a WorkflowModuleInput; got {start!r:.80}"
            )
        try:
            script = top_level_script(start.source, start.source_name)
        except MetadataError as error:
            raise WorkflowModuleError(f"{UNDECLARED}{error}") from error
        realm, limits = self._realms.open(start.memory_bytes)
        try:
            execution = realm.start(Cell(source=CELL, name=CELL_NAME, seed=start.seed))
        except BaseException:
            realm.close()
            raise
        return realm, execution, ModuleRun(start, limits.value_bytes, script)


class ModuleExecution:
    """A run of a module, driven in batches: everything ready is answered at once.

    Args:
        realm: The realm, which only this module uses.
        execution: The engine's execution.
        run: The host's side of the module.
    """

    def __init__(self, realm: Realm, execution: Execution, run: ModuleRun) -> None:
        self._realm = realm
        self._execution = execution
        self._run = run
        self._closed = False

    async def advance(
        self, now: float, resolutions: Sequence[tuple[str, Resolution]] = ()
    ) -> ModuleProgress:
        """Answer requests, and run the module until it waits again or has ended.

        Args:
            now: The time that the script sees, in seconds since 1970.
            resolutions: Resolutions by the ids of their requests, in the order in which the script
                gets them. Ids that are not open are ignored.

        Raises:
            EngineFailure: The engine broke.
        """
        for number, resolution in resolutions:
            self._run.resolve(number, resolution)
        progress = self._run.read(await self._poll(now))
        while self._run.needs_poll:
            more = self._run.read(await self._poll(now))
            progress = attrs.evolve(
                more,
                calls=[*progress.calls, *more.calls],
                requests=[*progress.requests, *more.requests],
                cpu_seconds=progress.cpu_seconds + more.cpu_seconds,
            )
        return progress

    async def _poll(self, now: float) -> Progress:
        answers = self._run.settlements()
        return await self._execution.apoll(now, self._run.poll_seconds, answers)

    async def aclose(self) -> None:
        """Free the realm; closing twice is allowed."""
        if not self._closed:
            self._closed = True
            await to_end(run_guest(self._realm.close, lambda: None))


class WorkflowExecution:
    """A run of a module, driven by hand: one call, request or end at each poll.

    Use it from one thread at a time.
    """

    def __init__(self, realm: Realm, execution: Execution, run: ModuleRun) -> None:
        self._realm = realm
        self._execution = execution
        self._run = run
        self._calls: deque[Call] = deque()
        self._requests: dict[str, Request] = {}
        self._end: Complete | WorkflowModuleError | None = None

    def begin(self) -> None:
        """Evaluate the module as far as it goes without an answer; its errors are raised."""
        self._advance()
        if isinstance(self._end, WorkflowModuleError) and self._run.failed_at_start:
            raise self._end

    def check(self) -> None:
        """Run the module until it waits; errors that it has in every run are raised."""
        self._advance()
        if isinstance(self._end, WorkflowModuleError) and self._run.is_unusable:
            raise self._end

    def poll(self) -> Call | Request | Complete | Pending:
        """Run the module until it waits, and return the next call, request or end.

        Calls come first, one at a time; then the oldest request that was neither taken nor
        resolved, the same one at each poll; then the end of the module, or `Pending`.

        Raises:
            WorkflowModuleError: The module failed, or took too long.
            EngineFailure: The engine broke.
        """
        self._advance()
        if self._calls:
            return self._calls.popleft()
        for request in self._requests.values():
            return request
        if isinstance(self._end, WorkflowModuleError):
            raise self._end
        return self._end or Pending(self._run.awaiting)

    def take_pending_requests(self) -> list[Request]:
        """Run the module until it waits, and take all requests, in order of creation.

        They stay open until they are resolved.

        Raises:
            EngineFailure: The engine broke.
        """
        self._advance()
        taken = list(self._requests.values())
        self._requests.clear()
        return taken

    def resolve_request(self, request_id: str, resolution: Resolution) -> None:
        """Answer a request; the script continues at the next poll.

        Raises:
            WorkflowModuleError: No such request is open. The budget of the resolution applies all
                the same.
        """
        if not self._run.resolve(request_id, resolution):
            raise WorkflowModuleError(f"unknown workflow request id: {request_id}")
        self._requests.pop(request_id, None)

    def close(self) -> None:
        """Free the realm; closing twice is allowed."""
        self._realm.close()

    def _advance(self) -> None:
        while self._end is None:
            answers = self._run.settlements()
            polled = self._execution.advance(
                time.time(), self._run.poll_seconds, answers, lambda same: same
            )
            progress = self._run.read(polled)
            self._calls.extend(progress.calls)
            self._requests.update((request.id, request) for request in progress.requests)
            self._end = progress.complete or progress.error
            if not self._run.needs_poll:
                return
