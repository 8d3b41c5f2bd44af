"""Progress of runs, for people and for programs."""

from __future__ import annotations

import io
import json
import sys
from typing import Any

import pytest
from rich.console import Console

from interpstack_workflows.commands.live import LiveProgress, progress
from interpstack_workflows.events.events import (
    AgentCompletedEvent,
    AgentProgressEvent,
    AgentStartedEvent,
    ErrorEvent,
    LogEvent,
    PhaseEvent,
    StartedEvent,
    StepEvent,
)

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


def test_lines_have_no_control_characters_and_leave_out_what_was_shown_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    used: Any = {"agent": "scout\x1b[2J", "prompt_preview": "p"}
    with progress(as_json=False) as take:
        take(StartedEvent(name="find\x1b]0;x\x07", start_time=0.0, **_AT))
        take(AgentCompletedEvent(step="a", replayed=True, usage={}, **used, **_AT))
        take(StepEvent(step="b", kind="ask", ok=True, replayed=True, **_AT))
        take(AgentStartedEvent(step="c", **used, **_AT))
        take(ErrorEvent(name="Error", message="no\x9b2J", **_AT))
    assert capsys.readouterr().err.splitlines() == [
        "run_a started: find ]0;x ",
        "… scout [2J p",
        "failed: Error: no 2J",
    ]


def test_a_program_gets_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    event = LogEvent(message="a\x1b[31m\nb", **_AT)
    with progress(as_json=True) as events:
        events(event)
    out, err = capsys.readouterr()
    assert json.loads(out) == event.to_json()
    assert (out.count("\n"), err) == (1, "")


def test_a_file_gets_a_line_for_each_event(capsys: pytest.CaptureFixture[str]) -> None:
    child: Any = {"run_id": "run_a", "scope": "root/s2"}
    scout: Any = {"step": "s", "agent": "scout", "phase": "Find", "prompt_preview": "p"}
    with progress(as_json=False) as events:
        for event in (
            StartedEvent(name="tides", start_time=1.0, **_AT),
            PhaseEvent(name="Find", options={"a": 1}, **_AT),
            AgentStartedEvent(**scout, **_AT),
            AgentProgressEvent(step="s", agent="scout", provider_event={"x": 1}, **_AT),
            StartedEvent(name="child", start_time=1.0, **child),
            LogEvent(message="a\x1b[31m\nb", **child),
            AgentCompletedEvent(**scout, usage={"input_tokens": 5, "output_tokens": 2}, **_AT),
            StepEvent(step="s", kind="agent", ok=True, **_AT),
            StepEvent(step="t", kind="exec", ok=False, **_AT),
            StepEvent(step="u", kind="exec", ok=True, replayed=True, **_AT),
            ErrorEvent(name="TypeError", message="no\nnumber", **_AT),
        ):
            events(event)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "run_a started: tides",
        "phase: Find",
        "… scout p",
        "  workflow started: child",
        "  a [31m b",
        "✓ scout p 7 tokens",
        "✗ exec",
        "failed: TypeError: no number",
    ]


def test_terminals_get_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", _Terminal())
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert isinstance(progress(as_json=False), LiveProgress)
