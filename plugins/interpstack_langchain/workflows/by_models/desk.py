"""The desk: does what the tools of a model ask for, within the limits of the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
from langchain.tools import ToolRuntime

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.call_scopes import Checkpoint
from interpstack_langchain.workflows.by_models import questions
from interpstack_langchain.workflows.by_models.admission import LOOKED, Wanted, WorkflowAdmission
from interpstack_langchain.workflows.by_models.checking import report
from interpstack_langchain.workflows.by_models.conversations import WorkflowConversation
from interpstack_langchain.workflows.by_models.homes import RunnerHome
from interpstack_langchain.workflows.by_models.lines import line
from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_langchain.workflows.by_models.selection import selected
from interpstack_langchain.workflows.by_models.shown_runs import ShownRun, listed
from interpstack_langchain.workflows.by_models.watched_runs import WatchedRuns
from interpstack_workflows.api import (
    MetadataError,
    UnknownRun,
    WorkflowError,
    WorkflowRecord,
    WorkflowRunner,
)

__all__ = ["Desk"]

#: The name of a model's source in places.
_SOURCE: Final = "workflow.js"


@attrs.frozen(eq=False, repr=False)
class Desk:
    """Serves the tools of one middleware.

    Attributes:
        home: Has the runner.
        options: The limits.
    """

    home: RunnerHome
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

        return await self.home.call(use)

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
            async with self.home.turns:
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

        await self.home.call(use)
        return await self._told(runtime, run_id, seconds)

    async def status(self, runtime: ToolRuntime[Any, Any], run: str | None, seconds: float) -> str:
        """Report the state of a run, or list the runs of the conversation.

        Raises:
            WorkflowError: The conversation has no such run.
        """
        conversation = WorkflowConversation.of(runtime)
        if run is not None:
            return await self._told(runtime, await self._own(conversation, run), seconds)

        async def use(runner: WorkflowRunner) -> str:
            found = await runner.runs(limit=LOOKED)
            return listed(one for one in found if conversation.owns(one.id))

        return await self.home.call(use)

    async def result(self, runtime: ToolRuntime[Any, Any], run: str, path: str, offset: int) -> str:
        """A piece of the result of a run.

        Raises:
            WorkflowError: There is no such run, part or piece, or the run has no result.
        """
        run_id = await self._own(WorkflowConversation.of(runtime), run)
        record = await self.home.call(lambda runner: runner.show(run_id))
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

        await self.home.call(use)
        return (await self._shown(run_id)).text()

    async def send(
        self, runtime: ToolRuntime[Any, Any], run: str, to: str, value: Any, seconds: float
    ) -> str:
        """Answer a question, or send a signal, where the host lets the model do so.

        Raises:
            WorkflowError: The host does not, or the run takes no such answer.
        """
        run_id = await self._own(WorkflowConversation.of(runtime), run)
        shown = await self._shown(run_id)
        asked = next((one for one in shown.asks if one["id"] == to), None)
        if asked is not None and self.options.decider(asked["kind"]) != "model":
            raise WorkflowError(f"only a person may answer {asked['kind']} {to}")
        if asked is None and not self.options.signals:
            known = ", ".join(one["id"] for one in shown.asks) or "none"
            raise WorkflowError(f"run {run_id} has no open question {to!r:.200}; open are: {known}")

        async def use(runner: WorkflowRunner) -> None:
            if asked is not None:
                await runner.answer(run_id, to, value)
            else:
                await runner.signal(run_id, to, value)

        await self.home.call(use)
        return await self._told(runtime, run_id, seconds)

    # -- how a run stands --------------------------------------------------------------------

    async def _told(self, runtime: ToolRuntime[Any, Any], run_id: str, seconds: float) -> str:
        """The text on a run, after a wait and the answers that an interrupt brought."""
        shown = await self._rested(run_id, seconds)
        answered, fault = set[str](), ""
        while asked := self._for_interrupt(shown, answered):
            if Checkpoint.of(runtime.config) is None:
                raise ConfigurationError(
                    f"run {run_id} has a question for a person, and an interrupt needs a"
                    " checkpointer: pass one to the agent, and a thread_id with each run"
                )
            answers, fault = questions.ask(shown.record, asked, fault), ""
            for ask_id, value in answers.items():
                try:
                    await self.home.call(
                        lambda runner, ask_id=ask_id, value=value: runner.answer(  # type: ignore[misc]
                            run_id, ask_id, value
                        )
                    )
                    answered.add(ask_id)
                except WorkflowError as error:
                    fault = line(str(error), 500)
            shown = await self._rested(run_id, seconds if answered else 0.0)
        return shown.text()

    def _for_interrupt(self, shown: ShownRun, answered: set[str]) -> list[Mapping[str, Any]]:
        """The questions that are to interrupt the agent."""
        return [
            one
            for one in shown.asks
            if self.options.decider(one["kind"]) == "interrupt" and one["id"] not in answered
        ]

    async def _rested(self, run_id: str, seconds: float) -> ShownRun:
        seconds = min(seconds, self.options.max_wait_seconds)

        async def use(runner: WorkflowRunner) -> None:
            await self._watched.rest(runner, await runner.show(run_id), seconds)

        if seconds > 0:
            await self.home.call(use)
        return await self._shown(run_id)

    async def _shown(self, run_id: str) -> ShownRun:
        async def use(runner: WorkflowRunner) -> ShownRun:
            record = await runner.show(run_id)
            live = await self._watched.of(runner, record)
            waits = list(record.waiting_for)
            if live is None or record.has_ended or not live.complete or not live.tree.root.steps:
                tree = await runner.tree(run_id)
                waits = waits or list(await runner.questions(run_id))
            else:
                tree, waits = live.tree, waits or live.waiting_for()
            return ShownRun(record=record, tree=tree, waits=waits, options=self.options, live=live)

        return await self.home.call(use)

    async def _own(self, conversation: WorkflowConversation, run: str) -> str:
        """The id of a run of a conversation.

        Raises:
            WorkflowError: It has no such run.
        """
        try:
            run_id = conversation.check(run)
            await self.home.call(lambda runner: runner.show(run_id))
        except WorkflowError as error:
            raise UnknownRun(
                f"this conversation has no run {run!r:.100}; {self.options.tool('status')} without"
                " a run lists those that it has"
            ) from error
        return run_id


async def _known(runner: WorkflowRunner, run_id: str) -> WorkflowRecord | None:
    try:
        return await runner.show(run_id)
    except UnknownRun:
        return None
