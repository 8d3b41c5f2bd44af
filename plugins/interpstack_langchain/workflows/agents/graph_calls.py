"""Call a graph: begin it, continue it where it stopped, or pause it for decisions.

With a checkpointer each step of a run has a thread of its own. The checkpoints say which attempt
made them, so that a call finds out whether to begin, to continue, or only to read the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

import attrs
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Command, StateSnapshot
from pydantic import ValidationError

from interpstack_langchain.rules.approvals import UnfitAnswer
from interpstack_langchain.rules.decisions import Editable
from interpstack_langchain.workflows.agents.answers import NoAnswer, prompt_of, value_of
from interpstack_langchain.workflows.agents.approvals import UnfitDecisions, answers, approvals
from interpstack_langchain.workflows.agents.progress import AgentProgress
from interpstack_workflows.api import AgentCall, AgentFailed, AgentPaused

__all__ = ["GraphCall", "takes_messages"]

#: The entry of a checkpoint's metadata that names the attempt.
_STAGE: Final = "workflow_attempt"
#: The channel of the notes that answers were taken; no graph has it.
_TAKEN: Final = "interpstack_workflow_answers"
_INTERRUPT: Final = "__interrupt__"
#: Characters of the fault of a decision.
_FAULT_CHARS: Final = 500


def takes_messages(graph: Pregel[Any, Any, Any, Any]) -> bool:
    """Return whether the state of a graph has messages."""
    return "messages" in graph.channels


@attrs.define(eq=False, repr=False)
class GraphCall:
    """One call of a graph.

    Attributes:
        graph: The graph, with the checkpointer of this call.
        call: The call.
        config: The configuration of the graph's run; names the thread.
        progress: Reports what the graph does.
    """

    graph: Pregel[Any, Any, Any, Any]
    call: AgentCall
    config: RunnableConfig
    progress: AgentProgress
    _interrupts: list[Any] = attrs.field(factory=list, init=False)

    async def run(self) -> Any:
        """Run the graph to its end, as far as it has not got there before.

        Returns:
            Its output.

        Raises:
            AgentPaused: It waits for decisions.
            AgentFailed: The graph waits for decisions without a checkpointer, or its state was
                removed.
        """
        self.config["metadata"] = {**self.config.get("metadata", {}), _STAGE: self._stage}
        if self._saver is None:
            return await self._without_state()
        found = await self.graph.aget_state(self.config)
        if not found.created_at:
            self._check_not_lost()
            return await self._stream(self._input())
        if waiting := _waiting(found):
            return await self._stream(await self._answer(found, waiting))
        if found.next:
            return await self._stream(None)
        answered = (found.metadata or {}).get(_STAGE) == self._stage
        output = self._output(found)
        return output if answered and self._is_answer(output) else await self._stream(self._input())

    @property
    def _saver(self) -> BaseCheckpointSaver[Any] | None:
        saver = self.graph.checkpointer
        return saver if isinstance(saver, BaseCheckpointSaver) else None

    @property
    def _stage(self) -> str:
        return f"{self.call.attempt}{'c' if self.call.correction else ''}"

    def _input(self) -> Any:
        prompt = prompt_of(self.call)
        return {"messages": [HumanMessage(prompt)]} if takes_messages(self.graph) else prompt

    def _output(self, found: StateSnapshot) -> Any:
        values = found.values
        end = self.graph.output_channels
        return values.get(end) if isinstance(end, str) and isinstance(values, Mapping) else values

    def _is_answer(self, output: Any) -> bool:
        """Return whether an output has a value; the next attempt of a failed step asks again."""
        try:
            value_of(output, self.call)
        except NoAnswer:
            return False
        return True

    # -- running ---------------------------------------------------------------------------------

    async def _without_state(self) -> Any:
        self._check_not_lost()
        output = await self._streamed(self._input())
        if self._interrupts:
            raise AgentFailed(
                "the agent asks for a decision, and nothing keeps its state while it waits:"
                " compile the graph with a checkpointer, or give the runner a store that is one",
                final=True,
            )
        return output

    async def _stream(self, given: Any) -> Any:
        try:
            output = await self._streamed(given)
        except (ValidationError, UnfitAnswer) as error:
            if (fault := _fault_of_decision(error)) is None:
                raise
            found = await self.graph.aget_state(self.config)
            shown = approvals(_waiting(found), await self._taken(found))
            raise AgentPaused([{**one, "fault": fault} for one in shown]) from error
        found = await self.graph.aget_state(self.config)
        if waiting := _waiting(found):
            raise AgentPaused(approvals(waiting, await self._taken(found)))
        if found.next:
            raise AgentFailed("the graph has stopped before its end, and asks for no decision")
        return output

    async def _streamed(self, given: Any) -> Any:
        """Return the output of the graph; interrupts of its own are noted."""
        output: Any = None
        stream: Any = self.graph.astream(
            given,
            self.config,
            stream_mode=["updates", "values", "custom"],
            subgraphs=True,
            durability=None if self._saver is None else "sync",
        )
        async with aclosing(stream) as parts:
            async for place, mode, part in parts:
                if mode == "custom":
                    self.progress.custom(place, part)
                elif mode == "updates":
                    self.progress.update(place, part)
                    self._interrupts += part.get(_INTERRUPT, ()) if not place else ()
                elif not place:
                    output = part
        return output

    # -- decisions -------------------------------------------------------------------------------

    def _check_not_lost(self) -> None:
        if self.call.decisions is not None:
            raise AgentFailed(
                "the agent's state no longer exists, so the decision cannot be applied; use a "
                "checkpointer that outlives the process, or compile the graph without one, so that "
                "the run's store keeps its state. Run the step again with retry_failed",
                final=True,
            )

    async def _answer(self, found: StateSnapshot, waiting: Sequence[Any]) -> Command[Any]:
        """Return the answer to the open interrupts.

        Raises:
            AgentPaused: There is none yet, or it does not fit.
        """
        turn = await self._taken(found)
        try:
            editable = _editable(self.graph, found)
            given = answers(waiting, turn, self.call.decisions or {}, editable)
        except UnfitDecisions as error:
            raise AgentPaused(approvals(waiting, turn, error.faults)) from error
        if given is None:
            raise AgentPaused(approvals(waiting, turn))
        # First, because the next question at this place may look like this one.
        if self._saver is not None:
            note = [(_TAKEN, turn + 1)]
            await self._saver.aput_writes(found.config, note, f"{_TAKEN}-{turn + 1}")
        return Command(resume=given)

    async def _taken(self, found: StateSnapshot) -> int:
        """Return the number of answers that were given to the graph at its last checkpoint."""
        stored = None if self._saver is None else await self._saver.aget_tuple(found.config)
        writes = () if stored is None else stored.pending_writes or ()
        return max((int(value) for _, channel, value in writes if channel == _TAKEN), default=0)


def _waiting(found: StateSnapshot) -> list[Any]:
    """Return the interrupts of tasks that have not ended."""
    return [one for task in found.tasks if not task.result for one in task.interrupts]


def _fault_of_decision(error: ValidationError | UnfitAnswer) -> str | None:
    """Return the fault of a decision that the graph itself checked; `None` for another error."""
    if isinstance(error, UnfitAnswer):
        return str(error)[:_FAULT_CHARS]
    try:
        from langgraph.errors import is_invalid_resume
    except ImportError:  # a release that checks none
        return None
    if not is_invalid_resume(error):
        return None
    return "; ".join(str(one["msg"]) for one in error.errors())[:_FAULT_CHARS]


def _editable(graph: Pregel[Any, Any, Any, Any], found: StateSnapshot) -> Mapping[str, Editable]:
    """The tools that an edit may name, by the ids of the interrupts whose calls the graph makes.

    An interrupt from within a call of a tool, or from a graph within, may be about other tools of
    the same names; what raised it checks the edit.
    """
    nodes = {
        name: one.bound for name, one in graph.nodes.items() if isinstance(one.bound, ToolNode)
    }
    tools = [tool for node in nodes.values() for tool in node.tools_by_name.values()]
    own = [task for task in found.tasks if task.name not in nodes and task.state is None]
    editable = Editable(own=(), agent=tools, eval_name="")
    return {one.id: editable for task in own for one in task.interrupts} if tools else {}
