"""The progress of a run: a live tree, lines of text, or JSON lines for a program."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Final

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from interpstack_workflows.commands.rendering import (
    add_workflow,
    one_line,
    step_line,
)
from interpstack_workflows.events.events import (
    AgentCompletedEvent,
    AgentFailedEvent,
    AgentStartedEvent,
    CancelledEvent,
    ErrorEvent,
    LogEvent,
    PhaseEvent,
    ResultEvent,
    ResumedEvent,
    StartedEvent,
    StepEvent,
    WaitingEvent,
    WaitOpenedEvent,
    WorkflowEvent,
)
from interpstack_workflows.events.tree import RunTree

__all__ = ["LiveProgress", "ProgressLines", "print_event", "progress"]

#: Seconds between two pictures of the tree.
_PICTURE_SECONDS: Final = 0.1


class LiveProgress:
    """Draws a run as a tree that changes, with its log above; a context manager.

    Args:
        console: The terminal.
    """

    def __init__(self, console: Console) -> None:
        self._tree = RunTree()
        self._run_id = ""
        self._drawn = 0.0
        self._live = Live(self._picture(), console=console, auto_refresh=False)

    def __call__(self, event: WorkflowEvent) -> None:
        self._run_id = event.run_id
        self._tree.take(event)
        if isinstance(event, LogEvent):
            self._live.console.print(Text(one_line(event.message)))
        if time.monotonic() - self._drawn >= _PICTURE_SECONDS:
            self._draw()

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._draw()
        self._live.stop()
        if not self._live.console.is_terminal:
            self._live.console.line()  # a file has the last picture, without its end of line

    def _draw(self) -> None:
        self._live.update(self._picture(), refresh=True)
        self._drawn = time.monotonic()

    def _picture(self) -> Tree:
        root = self._tree.root
        tree = Tree(Text(f"{self._run_id} {one_line(root.name)}: {root.status}".strip()))
        add_workflow(tree, root)
        return tree


class ProgressLines:
    """Prints a line to standard error for each event that a person follows."""

    def __init__(self) -> None:
        self._tree = RunTree()

    def __call__(self, event: WorkflowEvent) -> None:
        self._tree.take(event)
        if line := self._line(event):
            click.echo("  " * event.depth + line, err=True)

    def _line(self, event: WorkflowEvent) -> str:
        node = self._tree.workflow(event.scope)
        match event:
            case StartedEvent(name=name) | ResumedEvent(name=name):
                verb = "started" if isinstance(event, StartedEvent) else "resumed"
                what = event.run_id if event.depth == 0 else "workflow"
                return f"{what} {verb}: {one_line(name)}"
            case PhaseEvent(name=name):
                return f"phase: {one_line(name)}"
            case LogEvent(message=message):
                return one_line(message)
            case StepEvent(kind="agent"):
                return ""  # its agent has events of its own
            case (
                AgentCompletedEvent(replayed=True)
                | AgentFailedEvent(replayed=True)
                | StepEvent(replayed=True)
            ):
                return ""  # an earlier process has shown its end
            case (
                AgentStartedEvent()
                | AgentCompletedEvent()
                | AgentFailedEvent()
                | StepEvent()
                | WaitOpenedEvent()
            ):
                return step_line(node.steps[event.step or ""]).plain
            case WaitingEvent():
                return "waiting"
            case ResultEvent():
                return "completed"
            case ErrorEvent() | CancelledEvent():
                verb = "failed" if isinstance(event, ErrorEvent) else "cancelled"
                return f"{verb}: {one_line(node.error)}"
        return ""


def print_event(event: WorkflowEvent) -> None:
    """Print an event as a JSON line to standard output."""
    click.echo(json.dumps(event.to_json(), ensure_ascii=True))


def progress(*, as_json: bool) -> AbstractContextManager[Callable[[WorkflowEvent], Any]]:
    """What takes the events of a run, and shows them.

    Args:
        as_json: Whether to print JSON lines to standard output. Without them, standard error gets
            the tree if it is a terminal, and lines of text if it is not.
    """
    if as_json:
        return nullcontext(print_event)
    if not sys.stderr.isatty():
        return nullcontext(ProgressLines())
    return LiveProgress(Console(stderr=True, highlight=False))
