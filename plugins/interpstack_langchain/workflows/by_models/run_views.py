"""Render runs for a model: status, counts, waits, failures, and a bounded part of the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack_langchain.workflows.by_models.lines import as_json, clipped, fitted, line
from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_langchain.workflows.by_models.watched_runs import WatchedRun
from interpstack_workflows.api import RunTree, WorkflowNode, WorkflowRecord, WorkflowUsage

__all__ = ["RunView", "listed"]

#: Lines of a kind: phases, steps at work, failures, waits.
_LINES: Final = 8
#: Characters of a status beside the result.
_CHARS: Final = 3000
_ENDS: Final = ("completed", "failed", "cancelled")
_ORDER: Final = ("ok", "failed", "running", "waiting")


@attrs.frozen(kw_only=True)
class RunView:
    """The report of a tool about one run.

    Attributes:
        record: The run as its store has it.
        tree: Its workflows, phases and steps.
        waits: What it waits for.
        options: The limits of a report, and who decides what.
        live: The run as this process follows it, if it does.
    """

    record: WorkflowRecord
    tree: RunTree
    waits: Sequence[Mapping[str, Any]]
    options: WorkflowOptions
    live: WatchedRun | None = None

    def text(self) -> str:
        """Return the whole report, for the model."""
        lines = [self._head(), *fitted(self._body(), _CHARS, "… {count} more lines")]
        lines += self._end()
        return "\n".join(lines)

    @property
    def asks(self) -> list[Mapping[str, Any]]:
        """The waits that an answer ends."""
        return [wait for wait in self.waits if wait.get("kind") in ("ask", "approval")]

    @property
    def status(self) -> str:
        """The status; a run that lingers, or sleeps, is `waiting`."""
        at_work = self.record.status not in _ENDS and any(_at_work(self.tree.root))
        return "waiting" if self.waits and not at_work else self.record.status

    def _head(self) -> str:
        record = self.record
        usage = WorkflowUsage.from_json(record.usage) if record.usage else self.tree.root.usage()
        used = [f"{usage.agents or _agents(self.tree.root)} agents", f"{usage.tokens} tokens"]
        used += [f"{usage.cost:g} cost"] if usage.cost else []
        return f"run {record.id} {line(record.name, 80)!r}: {self.status}; {', '.join(used)}"

    def _body(self) -> Iterator[str]:
        if self.record.status not in _ENDS and self.live is not None and self.live.log:
            yield f"log: {line(self.live.log)}"
        yield from _first(_phases(self.tree.root), "… {count} more phases")
        at_work = (f"at work: {one}" for one in _at_work(self.tree.root))
        yield from _first(at_work, "… {count} more at work")
        yield from _first(self._failures(), "… {count} more kinds of failures")
        yield from _first(self._waiting(), "… {count} more waits")

    def _failures(self) -> Iterator[str]:
        census = self.record.census
        if not census:
            yield from (f"failed: {one}" for one in _failed(self.tree.root))
            return
        for error in census.get("errors") or ():
            count = error.get("count", 1)
            failure = f"failed: {line(error.get('name'))}: {line(error.get('message'))}"
            yield failure + (f" ({count} times)" if count > 1 else "")
        if dropped := census.get("dropped"):
            yield f"failures that became null: {dropped}"
        if unused := census.get("unused_budgets"):
            yield f"budgets that limited nothing: {', '.join(map(line, unused))}"

    def _waiting(self) -> Iterator[str]:
        for wait in self.waits:
            if wait.get("answered"):
                yield f"{wait['kind']} {wait['id']}: answered; the run has not taken the answer yet"
                continue
            match wait.get("kind"):
                case "ask":
                    options = wait.get("options") or {}
                    choices = options.get("choices")
                    question = f"question {wait['id']}: {line(wait.get('question', ''))!r}"
                    question += f", one of {line(choices)}" if choices else ""
                    yield f"waits for {question}; {self._who('ask')}"
                case "approval":
                    approval = f"approval {wait['id']}: {line(wait.get('approvals'), 400)}"
                    yield f"waits for {approval}; {self._who('approval')}"
                case "signal":
                    own = f"send it with {self.options.tool('send')}"
                    who = own if self.options.signals else "it is sent from outside"
                    yield f"waits for signal {line(wait.get('signal'))!r}; {who}"
                case _:
                    yield "waits until a set time; it continues by itself"

    def _who(self, kind: str) -> str:
        if self.options.decider(kind) == "model":
            return f"answer it with {self.options.tool('send')}"
        return "a person answers it, not you"

    def _end(self) -> Iterator[str]:
        record, chars = self.record, self.options.max_result_chars
        if record.status == "completed":
            text = as_json(record.result)
            if len(text) <= chars:
                yield f"result: {text}"
                return
            yield f"result ({len(text)} characters, the beginning): {clipped(text, chars)}"
            yield f"read the rest with {self.options.tool('result')}(run, path, offset)"
        elif record.error is not None:
            error = record.error
            yield f"error: {line(error.get('name'))}: {line(error.get('message'), chars)}"
            yield from _place(error)


def listed(records: Iterable[WorkflowRecord]) -> str:
    """List runs, one in a line."""
    lines = [f"{run.id} {line(run.name, 80)!r}: {run.status}" for run in records]
    return "\n".join(fitted(lines, _CHARS, "… {count} more")) or "no runs"


def _first(lines: Iterable[str], more: str) -> Iterator[str]:
    given = list(lines)
    yield from given[:_LINES]
    if len(given) > _LINES:
        yield more.format(count=len(given) - _LINES)


def _place(error: Mapping[str, Any]) -> Iterator[str]:
    """Yield the first frame of the stack of an error."""
    for text in str(error.get("stack") or "").splitlines():
        if text.strip().startswith("at "):
            yield line(text.strip())
            return


def _phases(node: WorkflowNode, depth: int = 0) -> Iterator[str]:
    """Counts of the steps of each phase, and of the children."""
    counts: dict[str | None, Counter[str]] = {phase: Counter() for phase in node.phases}
    for step in node.steps.values():
        counts.setdefault(step.phase, Counter())[step.status] += 1
    for phase, count in counts.items():
        steps = ", ".join(f"{count[one]} {one}" for one in _ORDER if count[one])
        title = "steps without a phase" if phase is None else f"phase {line(phase, 80)!r}"
        yield f"{'  ' * depth}{title}: {steps or 'nothing yet'}"
    for child in node.children.values():
        yield f"{'  ' * depth}workflow {line(child.name, 80)!r}: {child.status}"
        yield from _phases(child, depth + 1)


def _at_work(node: WorkflowNode) -> Iterator[str]:
    for step in node.steps.values():
        if step.status == "running" and step.kind in ("agent", "exec"):
            yield f"{line(step.agent or step.kind, 60)} {line(step.title, 100)!r}"
    for child in node.children.values():
        yield from _at_work(child)


def _failed(node: WorkflowNode) -> Iterator[str]:
    for step in node.steps.values():
        if step.status == "failed":
            who = line(step.agent or step.kind, 60)
            yield f"{who} {line(step.title, 60)!r}: {line(step.error)}"
    for child in node.children.values():
        yield from _failed(child)


def _agents(node: WorkflowNode) -> int:
    own = sum(step.kind == "agent" for step in node.steps.values())
    return own + sum(map(_agents, node.children.values()))
