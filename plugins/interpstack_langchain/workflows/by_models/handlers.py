"""Handle the calls of a model's workflow tools, within the limits of the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
from langchain.tools import ToolRuntime

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.call_scopes import Checkpoint
from interpstack_langchain.workflows.by_models import questions
from interpstack_langchain.workflows.by_models.admission import SEARCHED, Wanted, WorkflowAdmission
from interpstack_langchain.workflows.by_models.checking import report
from interpstack_langchain.workflows.by_models.conversations import WorkflowConversation
from interpstack_langchain.workflows.by_models.lines import line
from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_langchain.workflows.by_models.owning_loop import OwningLoop
from interpstack_langchain.workflows.by_models.run_views import RunView, listed
from interpstack_langchain.workflows.by_models.selection import selected
from interpstack_langchain.workflows.by_models.watched_runs import WatchedRuns
from interpstack_workflows.api import (
    MetadataError,
    UnknownRun,
    WorkflowError,
    WorkflowRecord,
    WorkflowRunner,
    is_wait_id,
)

__all__ = ["WorkflowHandlers"]

#: The name of a model's source in places.
_SOURCE: Final = "workflow.js"


@attrs.frozen(eq=False, repr=False)
class WorkflowHandlers:
    """Handle the calls of the workflow tools of one middleware.

    Attributes:
        loop: Calls the runner on the event loop that owns it.
        options: The limits.
    """

    loop: OwningLoop
    options: WorkflowOptions
    _watched: WatchedRuns = attrs.field(factory=WatchedRuns, init=False)

    @property
    def _admission(self) -> WorkflowAdmission:
        return WorkflowAdmission(self.options)

    async def check(self, wanted: Wanted) -> str:
        """Check a workflow, and rehearse it.

        Raises:
            WorkflowError: It is too large, or there is none of this name.
        """
        budget = self._admission.budget(wanted.budget)

        async def use(runner: WorkflowRunner) -> str:
            what = await self._admission.script(runner, wanted)
            try:
                found = await runner.rehearse(what, wanted.args, budget=budget)
            except MetadataError as error:
                return f"1 error; nothing has run\nerror: {line(str(error), 500)}"
            return report(found, wanted.name or _SOURCE)[1]

        return await self.loop.call(use)

    async def start(self, runtime: ToolRuntime[Any, Any], wanted: Wanted, seconds: float) -> str:
        """Start a workflow, unless this very call has started it before.

        Raises:
            WorkflowError: It cannot be started; the message says why.
        """
        conversation, budget = (
            WorkflowConversation.of(runtime),
            self._admission.budget(wanted.budget),
        )
        inputs = attrs.asdict(wanted)
        run_id = conversation.run_id(runtime, self.options.tool("start"), inputs)

        async def use(runner: WorkflowRunner) -> None:
            async with self.loop.turns:
                if await _known(runner, run_id) is not None:
                    return
                what = await self._admission.script(runner, wanted)
                await self._admission.check_room(runner, conversation)
                limits = {"budget": budget, "wall_seconds": self.options.wall_seconds}
                try:
                    await self._watched.start(runner, run_id, what, wanted.args, **limits)
                except WorkflowError:
                    if await _known(runner, run_id) is None:  # else another process was quicker
                        raise

        await self.loop.call(use)
        return await self._report(runtime, run_id, seconds)

    async def status(self, runtime: ToolRuntime[Any, Any], run: str | None, seconds: float) -> str:
        """Report the state of a run, or list the runs of the conversation.

        Raises:
            WorkflowError: The conversation has no such run.
        """
        conversation = WorkflowConversation.of(runtime)
        if run is not None:
            return await self._report(runtime, await self._own(conversation, run), seconds)

        async def use(runner: WorkflowRunner) -> str:
            found = await runner.runs(limit=SEARCHED)
            return listed(one for one in found if conversation.owns(one.id))

        return await self.loop.call(use)

    async def result(self, runtime: ToolRuntime[Any, Any], run: str, path: str, offset: int) -> str:
        """Return a piece of the result of a run.

        Raises:
            WorkflowError: There is no such run, part or piece, or the run has no result.
        """
        run_id = await self._own(WorkflowConversation.of(runtime), run)
        record = await self.loop.call(lambda runner: runner.show(run_id))
        if record.status != "completed":
            raise WorkflowError(
                f"run {run_id} has no result: it is {record.status}; check it with"
                f" {self.options.tool('status')}"
            )
        return selected(record.result, path, offset, self.options.max_result_chars)

    async def stop(self, runtime: ToolRuntime[Any, Any], run: str, seconds: float) -> str:
        """End a run, or report a run that has ended already.

        Raises:
            WorkflowError: The conversation has no such run.
        """
        run_id = await self._own(WorkflowConversation.of(runtime), run)

        async def use(runner: WorkflowRunner) -> None:
            record = await runner.show(run_id)
            if record.has_ended:
                return
            await self._watched.of(runner, record)
            await runner.cancel(run_id)
            await self._watched.rest(runner, record, seconds)

        await self.loop.call(use)
        return (await self._view(run_id)).text()

    async def send(
        self, runtime: ToolRuntime[Any, Any], run: str, to: str, value: Any, seconds: float
    ) -> str:
        """Answer a question, or send a signal, where the host lets the model do so.

        Raises:
            WorkflowError: The host does not, or the run takes no such answer.
        """
        run_id = await self._own(WorkflowConversation.of(runtime), run)
        view = await self._view(run_id)
        asked = next((one for one in view.asks if one["id"] == to), None)
        if asked is not None and self.options.decider(asked["kind"]) != "model":
            raise WorkflowError(f"only a person may answer {asked['kind']} {to}")
        if asked is None and (not self.options.signals or is_wait_id(to)):
            known = ", ".join(one["id"] for one in view.asks) or "none"
            raise WorkflowError(
                f"run {run_id} has no open question {to!r:.200}; open questions: {known}"
            )

        async def use(runner: WorkflowRunner) -> None:
            if asked is not None:
                await runner.answer(run_id, to, value)
            else:
                await runner.signal(run_id, to, value)

        await self.loop.call(use)
        report = await self._report(runtime, run_id, seconds)
        if asked is not None or any(one.get("signal") == to for one in view.waits):
            return report
        return (
            f"{line(to)!r} is no open question, so it was sent as a signal; the run did not wait "
            f"for this signal, and takes it if it comes to wait for it\n{report}"
        )

    # -- the state of a run ------------------------------------------------------------------

    async def _report(self, runtime: ToolRuntime[Any, Any], run_id: str, seconds: float) -> str:
        """Report the state of a run, after a wait and the answers that an interrupt brought."""
        view = await self._rested(run_id, seconds)
        answered, fault = set[str](), ""
        while asked := self._for_interrupt(view, answered):
            if Checkpoint.of(runtime.config) is None:
                raise ConfigurationError(
                    f"run {run_id} has a question for a person, and an interrupt needs a"
                    " checkpointer: pass one to the agent, and a thread_id with each run"
                )
            answers, fault = questions.ask(view.record, asked, fault)
            fault = line(fault, 500)
            for ask_id, value in answers.items():
                try:
                    await self.loop.call(
                        lambda runner, ask_id=ask_id, value=value: runner.answer(  # type: ignore[misc]
                            run_id, ask_id, value
                        )
                    )
                    answered.add(ask_id)
                except WorkflowError as error:
                    fault = line(str(error), 500)
            view = await self._rested(run_id, seconds if answered else 0.0)
        return view.text()

    def _for_interrupt(self, view: RunView, answered: set[str]) -> list[Mapping[str, Any]]:
        """Return the questions that have to interrupt the agent."""
        return [
            one
            for one in view.asks
            if self.options.decider(one["kind"]) == "interrupt"
            and one["id"] not in answered
            and not one.get("answered")
        ]

    async def _rested(self, run_id: str, seconds: float) -> RunView:
        seconds = min(seconds, self.options.max_wait_seconds)

        async def use(runner: WorkflowRunner) -> None:
            await self._watched.rest(runner, await runner.show(run_id), seconds)

        if seconds > 0:
            await self.loop.call(use)
        return await self._view(run_id)

    async def _view(self, run_id: str) -> RunView:
        async def use(runner: WorkflowRunner) -> RunView:
            record = await runner.show(run_id)
            live = await self._watched.of(runner, record)
            waits = list(record.waiting_for)
            if live is None or record.has_ended or not live.complete or not live.tree.root.steps:
                tree = await runner.tree(run_id)
                waits = waits or list(await runner.questions(run_id))
            else:
                tree, waits = live.tree, waits or live.waiting_for()
            if any(one["kind"] in ("ask", "approval") for one in waits):
                known = {one["id"]: one for one in await runner.questions(run_id)}
                waits = [known.get(one.get("id"), one) for one in waits]
            return RunView(record=record, tree=tree, waits=waits, options=self.options, live=live)

        return await self.loop.call(use)

    async def _own(self, conversation: WorkflowConversation, run: str) -> str:
        """Return the id of a run of a conversation.

        Raises:
            WorkflowError: It has no such run.
        """
        try:
            run_id = conversation.check(run)
            await self.loop.call(lambda runner: runner.show(run_id))
        except WorkflowError as error:
            raise UnknownRun(
                f"this conversation has no run {run!r:.100}; call {self.options.tool('status')}"
                " without a run to list its runs"
            ) from error
        return run_id


async def _known(runner: WorkflowRunner, run_id: str) -> WorkflowRecord | None:
    try:
        return await runner.show(run_id)
    except UnknownRun:
        return None
