"""The runner: starts workflows, follows them, and resumes those that were interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from interpstack import Engine, InterpreterStack, call_blocking
from interpstack.values import same_json
from interpstack_commands import OUTPUT_BYTES, Sandbox
from interpstack_workflows.agents.selectors import Models
from interpstack_workflows.budgets.prices import Prices
from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.events.events import WorkflowEvent
from interpstack_workflows.events.hub import EventHub, EventSubscription
from interpstack_workflows.module.arguments import check_arguments
from interpstack_workflows.runs.agent_names import find_agents
from interpstack_workflows.runs.catalog import WorkflowCatalog, metadata_of
from interpstack_workflows.runs.changes import change_script
from interpstack_workflows.runs.host_modules import read_modules
from interpstack_workflows.runs.parts import (
    RunParts,
    check_poll_seconds,
    check_settings,
    worktrees_of,
)
from interpstack_workflows.runs.reading.views import RunnerViews
from interpstack_workflows.runs.run_budgets import check_names
from interpstack_workflows.runs.run_records import RunOptions, as_result, new_run
from interpstack_workflows.runs.scopes.replaying import failed_scopes
from interpstack_workflows.runs.supervision.serving import serve
from interpstack_workflows.runs.supervision.supervisor import Activation, ActiveRun, RunSupervisor
from interpstack_workflows.runs.values import ENDED, WorkflowResult
from interpstack_workflows.runs.verbs.waits import CONTRADICTED, check_answer
from interpstack_workflows.runtime.runtime import WorkflowRuntime
from interpstack_workflows.scheduling.scheduler import Scheduler
from interpstack_workflows.steps.host_values import plain_json
from interpstack_workflows.stores.opening import open_store
from interpstack_workflows.stores.records import Message, WorkflowRecord
from interpstack_workflows.stores.store import WorkflowStore
from interpstack_worktrees import GitWorktrees

__all__ = ["RunHandle", "WorkflowRunner"]


class RunHandle:
    """A run that was started or resumed here.

    Attributes:
        run_id: Identifies the run in its store.
    """

    def __init__(self, run: ActiveRun) -> None:
        self.run_id = run.run_id
        self._run = run

    async def result(self) -> WorkflowResult:
        """Wait until the run has ended, however long it waits for answers."""
        return as_result(await self._run.wait(to_end=True))

    async def rest(self) -> WorkflowResult:
        """Wait until the run has ended, or needs an answer or a signal to continue."""
        return as_result(await self._run.wait(to_end=False))


class WorkflowRunner(RunnerViews):
    """Runs workflows.

    ```python
    async with WorkflowRunner(agents={"default": agent}) as runner:
        result = await runner.run(Path("research.workflow.js"), {"topic": "tides"})
    ```

    Args:
        engine: A JavaScript engine: its name, a stack, or the engine itself.
        agents: Agents by name, as scripts call them by `agentType`. A call without a name goes to
            the agent `default`, or to the only agent.
        models: Names for models, each with a selector, as in `{"fast": "provider/model"}`.
        prices: Prices of a million tokens by the name of the model, for models that do not report
            their cost, as in `{"acme-large": {"input": 3, "output": 15}}`.
        store: Keeps runs: a `WorkflowStore`, or its URL; see `open_store`.
        workflows: Workflows that scripts may call by name; see `WorkflowCatalog`.
        modules: Modules that scripts may import, by specifier: files or sources, as in
            `{"team:prompts": Path("prompts.js")}`; see `read_modules`.
        sandboxes: The sandboxes that run the commands of `exec`, by profile, such as `local/build`:
            each a `LocalSandbox`, or an async function of an `ExecSpec`.
        output_bytes: Bytes of standard output, and of standard error, that scripts get from a
            command; longer output is cut off, and marked.
        worktrees: The root of a git repository, or `GitWorktrees`, for agents that scripts call
            with `isolation: "worktree"`.
        scheduler: Gives slots to agents; one may serve several runners.
        events: Called with each event of all runs, see `WorkflowEvent`. It is called on the event
            loop, so it must return at once; `subscribe` is for slower readers.
        max_depth: Number of workflows that may be nested, including the root.
        lease_seconds: Seconds for which a runner that shows no sign of life keeps its lease.
        linger_seconds: Seconds for which a run that only waits remains live.
        live_runs: Runs that may be live at once; each takes about a megabyte.
        clock: Returns the time, in seconds since 1970.
    """

    def __init__(
        self,
        engine: InterpreterStack | Engine | str = "quickjs",
        *,
        agents: Mapping[str, Any] | None = None,
        models: Mapping[str, str] | None = None,
        prices: Mapping[str, Any] | None = None,
        store: WorkflowStore | str = "memory:",
        workflows: Mapping[str, Path | str] | Iterable[Path | str] = (),
        modules: Mapping[str, Path | str] | None = None,
        sandboxes: Mapping[str, Sandbox] | None = None,
        output_bytes: int = OUTPUT_BYTES,
        worktrees: GitWorktrees | Path | str | None = None,
        scheduler: Scheduler | None = None,
        events: Callable[[WorkflowEvent], Any] | None = None,
        max_depth: int = 8,
        lease_seconds: float = 15.0,
        linger_seconds: float = 1.0,
        live_runs: int = 1250,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_settings(
            store=store,
            workflows=workflows,
            models=models,
            sandboxes=sandboxes,
            output_bytes=output_bytes,
            scheduler=scheduler,
            events=events,
            max_depth=max_depth,
            lease_seconds=lease_seconds,
            linger_seconds=linger_seconds,
            live_runs=live_runs,
            clock=clock,
            worktrees=worktrees,
        )
        stack = engine if isinstance(engine, InterpreterStack) else InterpreterStack(engine)
        self._closing = None if stack is engine else stack
        self._owns_store = isinstance(store, str)
        self._hub = EventHub(events)
        parts = RunParts(
            runtime=WorkflowRuntime(stack.engine),
            agents=find_agents(agents or {}, stack),
            models=Models(models),
            modules=read_modules(modules),
            prices=Prices(prices),
            catalog=WorkflowCatalog(workflows),
            sandboxes=dict(sandboxes or {}),
            output_bytes=output_bytes,
            worktrees=worktrees_of(worktrees),
            scheduler=scheduler or Scheduler(),
            hub=self._hub,
            clock=clock,
            max_depth=max_depth,
            linger_seconds=linger_seconds,
            store=open_store(store) if isinstance(store, str) else store,  # last: nothing failed
        )
        super().__init__(parts)
        self._supervisor = RunSupervisor(parts, lease_seconds, live_runs)

    async def __aenter__(self) -> WorkflowRunner:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop all runs where they are; they can be resumed. Closing twice is allowed."""
        await self._supervisor.aclose()
        self._hub.close()
        if self._owns_store:
            await self._parts.store.aclose()
        if self._closing is not None:
            await self._closing.aclose()

    async def start(self, what: Path | str, args: Any = None, **options: Any) -> RunHandle:
        """Start a workflow.

        Args:
            what: A file, the name of a known workflow, or the source of a module.
            args: The arguments, as JSON. Whole numbers beyond 2**53-1 are refused, because a script
                would get other ones.
            options: See `RunOptions`.

        Raises:
            UnknownWorkflow: There is no such file or name.
            MetadataError: The file has no valid metadata.
            ArgumentsError: The workflow does not take these arguments.
            WorkflowError: The options are wrong, such as limits for a misspelt phase.
        """
        script = self._parts.catalog.given(what)
        metadata = await metadata_of(script)
        args = await check_arguments(metadata, args, exact=True)
        given = RunOptions.of(options)
        record = new_run(script, metadata, args, given, self._parts.clock())
        if given.budgets:
            known = await call_blocking(self._parts.catalog.names)
            phases = [phase.title for phase in metadata.phases]
            check_names(given.budgets, [*phases, *known], script.source)
        await self._parts.store.create(record)
        return RunHandle(self._supervisor.supervise(record.id, Activation()))

    async def run(self, what: Path | str, args: Any = None, **options: Any) -> WorkflowResult:
        """Run a workflow until it ends, or needs an answer or a signal to continue."""
        handle = await self.start(what, args, **options)
        return await handle.rest()

    async def resume(
        self,
        run_id: str,
        *,
        retry_failed: bool = False,
        source: Path | str | None = None,
        accept_changes: bool = False,
        wait: bool = True,
    ) -> RunHandle:
        """Resume a run where it stopped: after a crash, a wait, a failure or a cancellation.

        Args:
            run_id: The run.
            retry_failed: Whether steps that failed run again; otherwise they fail as before. A run
                that has completed continues if steps of it failed, such as those whose failures
                `parallel` turned into null.
            source: A changed script, for the rest of the run. A run that has completed continues
                with it: recorded steps are not repeated, and the result is replaced when it ends.
            accept_changes: Whether that script may leave recorded steps unused.
            wait: Whether to wait while another runner works on the run; otherwise the handle
                raises `LeaseLost`. With `source`, only the lease of a runner that has died is
                waited for.

        Raises:
            UnknownRun: The store has no such run.
            ScriptChanged: The script leaves recorded steps unused; the message lists them.
            LeaseLost: Another runner works on the run, which is to get another script.
            WorkflowError: A completed run has no time left to continue; `retry_failed` was given
                while the run is at work here; or `accept_changes` has no `source`.
        """
        if accept_changes and source is None:
            raise WorkflowError(
                "accept_changes is about a changed script; give it as source (on the command "
                "line: --source FILE), or leave accept_changes out"
            )
        record = await self.show(run_id)
        run = self._supervisor.active_run(run_id)
        if retry_failed and run is not None and run.busy:
            raise WorkflowError(
                f"Run {run_id} is at work here, so its failed steps cannot be retried now; wait "
                "until it rests or has ended"
            )
        changed = False
        if source is not None:
            script = self._parts.catalog.given(source)
            changed = script.source != record.source
            if changed:
                self._check_time(record)
            await change_script(self._parts, record, script, accept=accept_changes, wait=wait)
        reopen = changed or record.status in ("failed", "cancelled")
        if record.status == "completed" and retry_failed and not reopen:
            reopen = await self._may_retry(record)
        activation = Activation(reopen=reopen, retry_failed=retry_failed, patient=wait)
        return RunHandle(self._supervisor.supervise(run_id, activation))

    async def cancel(self, run_id: str) -> None:
        """End a run: its agents are stopped, and its script gets an error for everything it awaits.

        Raises:
            UnknownRun: The store has no such run.
            WorkflowError: The run has ended already.
        """
        record = await self._going(run_id)
        await self._send(run_id, Message(kind="cancel"))
        if record.status == "waiting":
            self._supervisor.adopt(run_id)

    async def signal(self, run_id: str, name: str, value: Any = None) -> None:
        """Send a signal, for which the script waits with `wait(name)`, now or later.

        Raises:
            UnknownRun: The store has no such run.
            WorkflowError: The run has ended already, or the value is not JSON, too large or nested
                too deeply.
        """
        value = _sent(f"signal {name!r:.80}", value)
        await self._going(run_id)
        await self._send(run_id, Message(kind="signal", name=name, value=value))

    async def answer(self, run_id: str, ask_id: str, value: Any) -> None:
        """Answer a question or an approval.

        Args:
            run_id: The run.
            ask_id: The `id` of the question in the run's `waiting_for`, or in `questions`.
            value: The answer, as JSON.

        Raises:
            UnknownRun: The store has no such run.
            WorkflowError: The run has ended, the question has another answer, or the run waits for
                no such answer; the open ones are listed. Or the value is not JSON, too large or
                nested too deeply.
        """
        value = _sent(f"answer to {ask_id!r:.80}", value)
        await self._going(run_id)
        if await self._is_answered(run_id, ask_id, value):
            return
        run = self._supervisor.active_run(run_id)
        here = None if run is None or run.live is None else run.live.waits
        # One that replays its records has not come to its questions yet.
        waits = (
            await self.questions(run_id) if here is None or ask_id not in here else here.to_json()
        )
        check_answer(run_id, ask_id, value, waits)
        await self._send(run_id, Message(kind="answer", id=ask_id, value=value))
        await self._is_answered(run_id, ask_id, value)  # another answer may have come before it

    def subscribe(self, run_id: str | None = None, capacity: int = 1000) -> EventSubscription:
        """Events from now on, for a reader that may be slow.

        Args:
            run_id: The run, whose end ends the subscription; `None` for all runs. Of a run that has
                ended, there are no events, and of one in another process none either.
            capacity: Events that are queued for the reader; beyond that, the oldest are dropped.

        Raises:
            ConfigurationError: The capacity is not a whole number, or is below 1.
        """
        has_ended = None if run_id is None else partial(self._has_ended, run_id)
        return self._hub.subscribe(run_id, capacity, has_ended)

    async def serve(self, poll_seconds: float = 0.5) -> None:
        """Work on the runs of the store, until this is cancelled.

        Sleeping runs are woken at their time, and runs with messages when these arrive. Runs that
        another runner has left are taken over.

        Raises:
            ConfigurationError: `poll_seconds` is not a number above 0.
        """
        check_poll_seconds(poll_seconds)
        await serve(self._parts.store, self._supervisor, poll_seconds)

    async def _has_ended(self, run_id: str) -> bool:
        if self._supervisor.active_run(run_id) is not None:
            return False  # its end is an event
        record = await self._parts.store.read(run_id)
        return record is not None and record.status in ENDED

    async def _is_answered(self, run_id: str, ask_id: str, value: Any) -> bool:
        """Return whether a question already has this answer; the first answer counts.

        Raises:
            WorkflowError: It has another one.
        """
        sent = await self._parts.store.messages(run_id, 0)
        answers = [one.value for _, one in sent if one.kind == "answer" and one.id == ask_id]
        if answers and not same_json(answers[0], value):
            raise WorkflowError(CONTRADICTED.format(run_id=run_id, ask_id=ask_id))
        return bool(answers)

    async def _may_retry(self, record: WorkflowRecord) -> bool:
        """Return whether a completed run has failed steps to run again.

        Raises:
            WorkflowError: The run has failed steps, and its time is used up.
        """
        if not failed_scopes(await self._parts.store.entries(record.id)):
            return False
        self._check_time(record)
        return True

    def _check_time(self, record: WorkflowRecord) -> None:
        """Check that a completed run has time left to continue.

        Raises:
            WorkflowError: The run has completed, and its time is used up.
        """
        deadline = record.options.get("deadline")
        late = deadline is not None and self._parts.clock() >= deadline
        if record.status == "completed" and late:
            raise WorkflowError(
                f"Run {record.id} has used up its wall time, so no step of it can run again;"
                " its result stays. Start a new run"
            )

    async def _going(self, run_id: str) -> WorkflowRecord:
        record = await self.show(run_id)
        if record.status in ENDED:
            raise WorkflowError(f"Run {run_id} has ended already: it is {record.status}")
        return record

    async def _send(self, run_id: str, message: Message) -> None:
        await self._parts.store.send(run_id, message)
        await self._supervisor.poll(run_id)


def _sent(what: str, value: Any) -> Any:
    """Return the value of a message to a run, as it is stored.

    Raises:
        WorkflowError: It is not JSON, too large or nested too deeply.
    """
    try:
        return plain_json(value)
    except ValueError as error:
        raise WorkflowError(f"The {what} cannot be sent: {error}") from error
