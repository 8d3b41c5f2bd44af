"""The progress of a run while it goes on: a live tree for a person, JSON lines for a program."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Final

from rich.console import Console
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from interpstack_workflows.commands.shown import EventLines, add_workflow, one_line
from interpstack_workflows.events.events import LogEvent, WorkflowEvent
from interpstack_workflows.events.tree import RunTree

__all__ = ["LiveProgress", "progress"]

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


def progress() -> AbstractContextManager[Callable[[WorkflowEvent], Any]]:
    """A taker of events: a tree, lines on standard error, or JSON lines on standard output.

    Standard output that no person reads gets JSON lines; a terminal gets the tree, and lines where
    standard error is none.
    """
    if not sys.stdout.isatty():
        return nullcontext(EventLines(as_json=True))
    if not sys.stderr.isatty():
        return nullcontext(EventLines(as_json=False))
    return LiveProgress(Console(stderr=True, highlight=False))
