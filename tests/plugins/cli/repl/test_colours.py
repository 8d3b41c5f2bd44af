"""Tests of interpstack_cli.repl.colours."""

from __future__ import annotations

import pytest

from interpstack_cli.repl import colours
from interpstack_cli.repl.colours import coloured


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "200")


def test_a_value_has_the_colours_of_its_language(capsys: pytest.CaptureFixture[str]) -> None:
    coloured("const a = 'x'", "javascript")
    shown = capsys.readouterr().out
    assert "\x1b[" in shown
    coloured("const a = 'x'", "text")
    plain = capsys.readouterr().out
    assert plain != shown
    assert "const a = 'x'" in plain
    assert plain.count("\n") == 1


def test_a_long_value_is_shown_without(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(colours, "_HIGHLIGHTED", 10)
    coloured("[1, 2, 3]", "python")
    assert "\x1b[" in capsys.readouterr().out
    coloured("[1, 2, 3, 4]", "python")
    assert capsys.readouterr().out == "[1, 2, 3, 4]\n"
