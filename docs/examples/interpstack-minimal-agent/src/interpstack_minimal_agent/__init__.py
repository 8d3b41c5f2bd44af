"""A made-up agent loop with an interpreter in it, over a folder of JSON files."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

import interpstack_agents as agents
from interpstack import CellContext, GuestException, HostTool, InterpreterStack
from interpstack_durable.api import Journals

__all__ = ["PRESET", "ApprovalNeeded", "MinimalAgent", "Tool"]

PRESET = agents.Preset(["persistence", "durable", "console", "ptc"])
#: Gets the prompt and the messages; returns `{"code": …}` to run, or `{"answer": …}`.
Model = Callable[[str, Sequence[Mapping[str, str]]], Awaitable[Mapping[str, str]]]


class ApprovalNeeded(Exception):
    """Calls wait for a decision: what they are, by their keys."""

    def __init__(self, calls: Mapping[str, str]) -> None:
        super().__init__(f"waiting for approval: {', '.join(calls.values())}")
        self.calls = calls


@attrs.frozen
class Tool:
    """A tool of the agent."""

    name: str
    run: Callable[..., Awaitable[Any]]
    schema: Mapping[str, Any]
    needs_approval: bool = False


def host_tool(tool: Tool) -> HostTool:
    """The tool as plugins know tools; `context.host` is the `Run` that the agent passes."""

    async def call(given: dict[str, Any], context: CellContext) -> Any:
        if tool.needs_approval:
            approved = context.host.decisions.get(context.call_key)
            if approved is None:
                raise ApprovalNeeded({context.call_key: f"{tool.name}({given})"})
            if not approved:
                raise GuestException(f"a person refused {tool.name}({given})")
        return await tool.run(**given)

    passes = (ApprovalNeeded,)  # for the caller of the agent, not for the code
    return HostTool(name=tool.name, call=call, input_schema=tool.schema, passes=passes)


class Journal(agents.JournalBase):
    """The record of one eval: a line for each entry."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.name)
        self.path = path

    async def load(self) -> list[Mapping[str, Any]]:
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        # A crash may cut off the last line.
        lines = [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
        return [entry for _, entry in sorted(dict(lines).items())]

    async def append(self, index: int, entry: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps([index, entry])}\n")
            file.flush()
            os.fsync(file.fileno())

    async def pause(self, journal: Any, paused: Any, running: Any) -> BaseException:
        return ApprovalNeeded({k: v for _, error in paused for k, v in error.calls.items()})


@attrs.define
class Thread:
    """One conversation, as it is stored."""

    path: Path
    messages: list[dict[str, str]] = attrs.field(factory=list)
    records: list[Mapping[str, Any]] = attrs.field(factory=list)
    code: str | None = None  # of an eval that has begun and not ended
    evals: int = 0

    @classmethod
    def open(cls, path: Path) -> Thread:
        data = json.loads(path.read_text("utf-8")) if path.exists() else {"records": []}
        return cls(path, **{**data, "records": agents.read_json_records(data["records"])})

    def save(self) -> None:
        """Replace the file in one step, so that a crash leaves the old one or the new one."""
        data = attrs.asdict(self, filter=lambda field, _: field.name != "path")
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps({**data, "records": agents.json_records(self.records)}))
        fresh.replace(self.path)


@attrs.frozen
class Run:
    """One run of an eval, for the tools that its code calls."""

    journal: Journal
    decisions: Mapping[str, bool]


class MinimalAgent:
    """Answers questions in threads that are stored in a folder."""

    def __init__(self, model: Model, tools: Sequence[Tool], folder: Path, preset: Any = PRESET):
        self.model, self.tools, self.folder = model, tools, folder
        self.stack = InterpreterStack("quickjs", preset.plugins)
        mode = agents.persistence_mode(self.stack, "thread")
        self.sessions = agents.LiveSessions(self.stack, mode())
        journals = Journals(lambda run: run.journal)
        self.offers = agents.OfferBuilder(convert=host_tool, parts=[journals])

    async def ask(self, thread: str, question: str = "", **decisions: bool) -> str:
        """Answer a question; without one, resume after `ApprovalNeeded` or a crash."""
        stored = Thread.open(self.folder / f"{thread}.json")
        prompt = self.offers.prompt(self.stack, self.offers.offer(self.tools))
        stored.messages += [{"user": question}] if question else []
        while True:
            if stored.code is None:
                said = await self.model(prompt, stored.messages)
                stored.messages.append(dict(said))
                stored.code, stored.evals = said.get("code"), stored.evals + ("code" in said)
                stored.save()
                if stored.code is None:
                    return said["answer"]
            await self._eval(thread, stored, stored.code, decisions)

    async def _eval(self, key: str, thread: Thread, code: str, decisions: Any) -> None:
        """Run the code to its end; what it leaves behind is stored in one step."""
        run = Run(Journal(thread.path.with_suffix(f".eval-{thread.evals}")), decisions)
        offer, saved = self.offers.offer(self.tools), agents.SavedState.of(thread.records)
        async with self.sessions.enter(key, saved, offer) as live:
            outcome, record = await live.eval(code, host=run)
        thread.records = agents.joined(thread.records, [] if record is None else [[record]])
        thread.messages.append({"result": live.session.render(outcome)})
        thread.code = None
        thread.save()
        run.journal.path.unlink(missing_ok=True)
