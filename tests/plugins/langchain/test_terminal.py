"""What is printed cannot command the terminal."""

from __future__ import annotations

import io
import sys

import pytest

from interpstack import ConfigurationError
from interpstack_langchain.terminal import output, plain


def test_control_characters_are_escaped() -> None:
    assert plain("a\tb\n\x1b[31mred\x07") == "a\tb\n\\x1b[31mred\\x07"


def test_what_the_terminal_cannot_encode_is_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert plain("é") == "\\xe9"


def test_a_closed_output_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert output() is sys.stdout
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(ConfigurationError, match="standard output is closed; send it to"):
        output()
