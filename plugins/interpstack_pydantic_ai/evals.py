"""Evals: from the model's call to its answer.

`AgentEvals.run` reads from top to bottom: claim the conversation; return the answer of an eval that
has ended already; check the decisions; run the code against its journal; store the variables and
the answer in one step. An eval that pauses, or that an exception leaves, stores which one it is and
what it asked, and keeps its journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final

import attrs
from pydantic_ai import ApprovalRequired, RunContext, UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from interpstack import HostOffer, HostTool, InterpreterStack, Outcome
from interpstack_agents import (
    CallQuestion,
    ClaimedConversation,
    Conversations,
    DecisionNeeded,
    DecisionRejected,
    HostFailure,
    InterpreterFacts,
    LiveSessions,
    OfferBuilder,
    PersistenceScope,
    Record,
    check_decisions,
    lifetime_of_variables,
)
from interpstack_display.api import Attachment, attachments_of, with_texts
from interpstack_durable.api import Journals
from interpstack_learned import LearnedTypes
from interpstack_pydantic_ai.questions import decisions_in, metadata_of
from interpstack_pydantic_ai.tools import EvalRun, host_tool, key_of
from interpstack_pydantic_ai.values import answer_of

__all__ = ["AgentEvals", "CodeCall"]

_DIGEST_BYTES: Final = 16


@attrs.frozen
class CodeCall:
    """A model's call of the eval tool.

    Attributes:
        key: Identifies the eval in its conversation, in every run of the agent.
        message: Identifies the message of the model.
        run: The run of the agent in which the model wrote the message; `None` if that is unknown.
    """

    key: str
    message: str
    run: str | None = None

    @classmethod
    def of(cls, ctx: RunContext[Any]) -> CodeCall:
        """The call that a context is of.

        Ids of calls are not enough: some models number them anew in each message.
        """
        for message in reversed(ctx.messages):
            if isinstance(message, ModelResponse) and any(
                call.tool_call_id == ctx.tool_call_id for call in message.tool_calls
            ):
                return cls.in_message(message, ctx.tool_call_id or "")
        raise UserError(
            f"the message history lacks the call {ctx.tool_call_id!r:.80}: a processor of the "
            "history must keep the model's last message"
        )

    @classmethod
    def in_message(cls, message: ModelResponse, call_id: str) -> CodeCall:
        """The call that has an id in a message of the model."""
        made = _digest(message.timestamp.isoformat(), *_ids(message))
        return cls(_digest(made, call_id), made, message.run_id)


class AgentEvals:
    """Runs the evals of all conversations.

    Args:
        stack: The interpreter's stack.
        sessions: Its sessions, by conversation.
        conversations: The stored conversations.
        tool_name: Name of the eval tool.
        can_ask: Whether a cell can pause for an approval: only a record of its calls keeps those
            that were made from being made again.
        types: The types of tools' answers that signatures show, and learn.
    """

    def __init__(
        self,
        stack: InterpreterStack,
        sessions: LiveSessions,
        conversations: Conversations,
        tool_name: str,
        *,
        can_ask: bool,
        types: LearnedTypes | None = None,
    ) -> None:
        self.stack, self.sessions, self.conversations = stack, sessions, conversations
        self._can_ask = can_ask
        journals = Journals(lambda host: host.journal if isinstance(host, EvalRun) else None)

        def converted(tool: ToolDefinition) -> HostTool:
            made = host_tool(tool)
            return made if types is None else types.tool(made)

        self._offers = OfferBuilder(
            convert=converted,
            parts=[journals, InterpreterFacts(lifetime_of_variables(sessions.mode), stack.limits)],
            code_tool=tool_name,
            key=key_of,
        )

    def prompt(self, tools: Mapping[str, ToolsetTool[Any]]) -> str:
        """The section for the agent's instructions.

        Raises:
            ConfigurationError: Code cannot call some of the tools.
            UserError: A tool needs an approval, for which code cannot pause.
        """
        for name, tool in tools.items():
            if tool.tool_def.kind == "unapproved":
                self._check_asking(name)
        return self._offers.prompt(self.stack, self._offer(tools))

    async def run(
        self,
        code: str,
        ctx: RunContext[Any],
        conversation_id: str,
        tools: Mapping[str, ToolsetTool[Any]],
        toolset: AbstractToolset[Any],
    ) -> Any:
        """Run the code of a call, or continue it, and return the answer for the model.

        Raises:
            ApprovalRequired: Calls wait for decisions; the metadata name them.
            UserError: The decisions do not fit the open questions, or a tool asks for an approval
                for which code cannot pause.
            Exception: A tool raised it, and it is not for the model.
        """
        call = CodeCall.of(ctx)
        async with self.conversations.claim(conversation_id) as conversation:
            memory = _EvalMemory(conversation.data)
            ended = memory.answer(call)
            if ended is not None:
                return _answer(ended)
            if memory.gave_up(call):
                raise UserError(
                    f"the eval of the call {ctx.tool_call_id!r:.80} was given up by an earlier "
                    "answer, which did not approve it; nothing of it runs"
                )
            waits = memory.questions(call)
            if waits and not ctx.tool_call_approved:
                raise ApprovalRequired(metadata_of(waits))  # nothing runs until somebody decides
            run = EvalRun(
                ctx, tools, toolset, conversation.journal(call.key), _decisions(ctx, call, memory)
            )
            _check(run, call, memory)
            if memory.open_key not in (None, call.key):
                await conversation.journal(str(memory.open_key)).delete()
            memory.begin(call, ctx.run_id or "")
            try:
                return await self._ran(code, call, run, conversation, memory)
            except DecisionNeeded as needed:
                self._check_asking(needed.questions[0].tool)
                memory.leave(call, needed.questions)
                await conversation.save()
                raise ApprovalRequired(metadata_of(list(needed.questions))) from needed
            except HostFailure as failure:
                memory.leave(call, ())
                await conversation.save()
                raise failure.error from None

    async def give_up(
        self, conversation_id: str, message: ModelResponse, call_ids: Iterable[str]
    ) -> None:
        """Note that a person did not approve some evals of a message: later answers are refused.

        Raises:
            UserError: One of them has ended already.
        """
        async with self.conversations.claim(conversation_id) as conversation:
            memory = _EvalMemory(conversation.data)
            for call_id in call_ids:
                call = CodeCall.in_message(message, call_id)
                if memory.answer(call) is not None:
                    raise UserError(
                        f"the eval of the call {call_id!r:.80} was approved by an earlier answer, "
                        "and has ended; it can no longer be given up"
                    )
                if memory.open_key == call.key:
                    await conversation.journal(call.key).delete()
                if memory.is_of_last_message(call):  # answers of others are refused as it is
                    memory.give_up(call)
            await conversation.save()

    async def _ran(
        self,
        code: str,
        call: CodeCall,
        run: EvalRun,
        conversation: ClaimedConversation,
        memory: _EvalMemory,
    ) -> Any:
        """Run the code to its end; what it leaves behind is stored in one step."""
        text, outcome, record = await self._evaluated(code, call, run, conversation, memory)
        # Halves of surrogate pairs, which guests may have, are no text for stores and models.
        text = text.encode("utf-8", "replace").decode()
        shown = [one.to_dict() for one in attachments_of(outcome)]
        answer = {"text": text, "attachments": shown}
        memory.end(call, answer)
        await conversation.save(record)
        await run.journal.delete()
        return _answer(answer)

    async def _evaluated(
        self,
        code: str,
        call: CodeCall,
        run: EvalRun,
        conversation: ClaimedConversation,
        memory: _EvalMemory,
    ) -> tuple[str, Outcome, Record | None]:
        """Run the code in the session of the conversation, or in one that ends with the eval."""
        keeps = self.sessions.mode.scope != PersistenceScope.CALL
        owner = conversation.key if keeps else f"{conversation.key}:{call.key}"
        offer, saved = self._offer(run.tools), conversation.saved(memory.turn)
        try:
            async with self.sessions.enter(owner, saved, offer, keeps=keeps) as live:
                outcome, record = await live.eval(code, host=run)
                text = live.session.render(outcome)
        finally:
            if not keeps:
                await self.sessions.end_turn(owner, close=True)
        return with_texts(text, outcome, self.stack.limits.result_chars), outcome, record

    def _check_asking(self, tool: str) -> None:
        if not self._can_ask:
            raise UserError(
                f"tool {tool!r} asks for an approval, for which code needs the plugin 'durable', "
                "which the preset leaves out: without a record, calls that were made would be made "
                "again; leave the tool out of ptc, or use the plugin"
            )

    def _offer(self, tools: Mapping[str, ToolsetTool[Any]]) -> HostOffer:
        return self._offers.offer([tool.tool_def for tool in tools.values()])

    async def end_run(self, conversation_id: str) -> None:
        """Release the resources of a conversation until its next run."""
        await self.sessions.end_turn(conversation_id, close=not self.sessions.mode.outlives_turn)


@attrs.frozen
class _EvalMemory:
    """What is stored of the evals of a conversation, beside its variables.

    Attributes:
        data: `open`: the eval that has begun and not ended, with its message and its questions;
            `answers`: those of the last message, by eval, and `null` for one that a person gave up;
            `turn`: the turn, and the run that continues it.
    """

    data: dict[str, Any]

    @property
    def open_key(self) -> str | None:
        """The eval that has begun and not ended; `None` for none."""
        return (self.data.get("open") or {}).get("key")

    def questions(self, call: CodeCall) -> list[CallQuestion] | None:
        """The open questions of an eval; `None` if it is not open."""
        if self.open_key != call.key:
            return None
        return [CallQuestion.from_dict(one) for one in self.data["open"]["questions"]]

    def answer(self, call: CodeCall) -> Mapping[str, Any] | None:
        """The answer of an eval that ended, for a run of the agent that repeats it."""
        stored = self.data.get("answers") or {}
        found: Mapping[str, Any] | None = stored.get("by_key", {}).get(call.key)
        return found

    def gave_up(self, call: CodeCall) -> bool:
        """Whether a person gave up an eval of the last message."""
        by_key = (self.data.get("answers") or {}).get("by_key", {})
        return call.key in by_key and by_key[call.key] is None

    def is_of_last_message(self, call: CodeCall) -> bool:
        """Whether an eval is of the message that the last one was of, as far as that is known."""
        last = self.data.get("open") or self.data.get("answers") or {}
        return bool(last.get("message", call.message) == call.message)

    @property
    def turn(self) -> str:
        """Identifies the turn."""
        return str(self.data["turn"]["id"])

    def begin(self, call: CodeCall, run_id: str) -> None:
        """Note that an eval begins, or goes on in another run of the agent, as does its turn."""
        known = self.data.get("turn") or {}
        if run_id != known.get("run"):
            # A run that died has stored no open eval, but the model's message names the run.
            goes_on = bool(known) and (self.open_key == call.key or call.run == known["run"])
            self.data["turn"] = {"id": known["id"] if goes_on else run_id, "run": run_id}

    def leave(self, call: CodeCall, questions: tuple[CallQuestion, ...]) -> None:
        """Note that an eval has begun and not ended."""
        asked = [question.to_dict() for question in questions]
        self.data["open"] = {"key": call.key, "message": call.message, "questions": asked}

    def end(self, call: CodeCall, answer: Mapping[str, Any]) -> None:
        """Note the answer of an eval, beside those of the same message alone."""
        self.data.pop("open", None)
        self._note(call, answer)

    def give_up(self, call: CodeCall) -> None:
        """Note that a person gave up an eval."""
        if self.open_key == call.key:
            self.data.pop("open")
        self._note(call, None)

    def _note(self, call: CodeCall, answer: Mapping[str, Any] | None) -> None:
        stored = self.data.get("answers") or {}
        others = stored["by_key"] if stored.get("message") == call.message else {}
        self.data["answers"] = {"message": call.message, "by_key": {**others, call.key: answer}}


def _decisions(ctx: RunContext[Any], call: CodeCall, memory: _EvalMemory) -> Mapping[str, Any]:
    """The decisions about the calls of an eval; none if nobody was asked.

    Raises:
        UserError: There are decisions for an eval that is not paused.
    """
    if not ctx.tool_call_approved:
        return {}
    decisions = decisions_in(ctx.tool_call_metadata)
    waits = not decisions and memory.is_of_last_message(call)  # behind another of its message
    if memory.questions(call) is None and not waits:
        raise UserError(
            f"no eval of the call {ctx.tool_call_id!r:.80} is paused in conversation "
            f"{ctx.conversation_id!r:.80}: it has ended or was given up, and the evals of a later "
            "message have replaced its answer, or its store is another; nothing of it runs"
        )
    return decisions


def _check(run: EvalRun, call: CodeCall, memory: _EvalMemory) -> None:
    """Refuse decisions that do not fit the open questions, before anything is done.

    Raises:
        UserError: A decision is missing, for another question, or changes the arguments to some
            that the tool does not take.
    """
    if not run.ctx.tool_call_approved:
        return
    try:
        check_decisions(memory.questions(call) or [], run.decisions, run.check_edit)
    except DecisionRejected as error:
        raise UserError(
            f"the decisions about the calls from code of {run.ctx.tool_call_id!r:.80} do not fit; "
            f"make them with interpstack_pydantic_ai.answers: {error}"
        ) from error


def _answer(stored: Mapping[str, Any]) -> Any:
    shown = [Attachment.from_dict(dict(one)) for one in stored["attachments"]]
    return answer_of(stored["text"], shown)


def _ids(message: ModelResponse) -> list[str]:
    return [message.run_id or "", *(call.tool_call_id for call in message.tool_calls)]


def _digest(*texts: str) -> str:
    data = "\0".join(texts).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
