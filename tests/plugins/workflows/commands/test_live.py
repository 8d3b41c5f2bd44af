"""Progress of runs, for people and for programs."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from rich.console import Console

from interpstack_workflows.commands.live import LiveProgress, progress
from interpstack_workflows.events.events import AgentStartedEvent, LogEvent, PhaseEvent

_AT: Any = {"run_id": "run_a", "scope": "root"}


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_tree_and_the_log() -> None:
    text = io.StringIO()
    console = Console(file=text, width=120, force_terminal=True, color_system=None)
    with LiveProgress(console) as live:
        live(PhaseEvent(name="Find", **_AT))
        live(LogEvent(message="looking\x1b[2J [bold]x[/]", **_AT))
        live(AgentStartedEvent(step="s", agent="scout", phase="Find", prompt_preview="p", **_AT))
    printed = text.getvalue()
    assert "looking [2J [bold]x[/]" in printed
    assert "… scout p" in printed
    assert "Find" in printed


def test_a_file_gets_the_last_picture_alone() -> None:
    text = io.StringIO()
    console = Console(file=text, width=60)
    with LiveProgress(console) as live:
        live(AgentStartedEvent(step="s", agent="scout", phase="Find", prompt_preview="p", **_AT))
    console.print("after")
    assert text.getvalue().splitlines() == [
        "run_a : running",
        "└── Find",
        "    └── … scout p",
        "after",
    ]


@pytest.mark.parametrize(
    ("out", "err", "written"), [("file", "file", "out"), ("terminal", "file", "err")]
)
def test_files_get_lines(out: str, err: str, written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = {
        "out": _Terminal() if out == "terminal" else io.StringIO(),
        "err": _Terminal() if err == "terminal" else io.StringIO(),
    }
    monkeypatch.setattr(sys, "stdout", streams["out"])
    monkeypatch.setattr(sys, "stderr", streams["err"])
    event = LogEvent(message="hello", **_AT)
    with progress() as events:
        events(event)
    text = streams[written].getvalue()
    assert text == "[log] hello\n" or json.loads(text) == event.to_json()
    assert text.startswith("{") == (written == "out")


def test_terminals_get_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", _Terminal())
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert isinstance(progress(), LiveProgress)
