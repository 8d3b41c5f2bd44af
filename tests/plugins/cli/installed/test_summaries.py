"""Tests of interpstack_cli.installed.summaries."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from interpstack_cli.installed.summaries import summary_of

SOURCE = '''
raise RuntimeError("it is imported")

def command():
    """Show things, and more of them. Then this.

    At length.
    """

def silent(): ...

def coloured():
    """Show \\x1b[31mred\\x1b[0m things."""

def long():
    """%s."""

found = command
''' % ("word " * 40)


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "loud_commands"
    (package / "inner").mkdir(parents=True)
    for path in (
        package / "__init__.py",
        package / "more.py",
        package / "inner" / "__init__.py",
        tmp_path / "loud_module.py",
    ):
        path.write_text(SOURCE)
    (package / "odd.py").write_text("def (")
    monkeypatch.syspath_prepend(str(tmp_path))


def summary(value: str) -> str:
    return summary_of(EntryPoint("one", value, "interpstack.commands"))


@pytest.mark.parametrize(
    "module", ["loud_commands", "loud_commands.more", "loud_commands.inner", "loud_module"]
)
def test_it_is_the_first_sentence_and_nothing_is_imported(module: str) -> None:
    assert summary(f"{module}:command") == "Show things, and more of them."
    assert not {"loud_commands", "loud_module"} & sys.modules.keys()


@pytest.mark.parametrize(
    "value",
    [
        "loud_commands:silent",
        "loud_commands:found",
        "loud_commands:gone",
        "loud_commands.gone:command",
        "loud_commands.odd:command",
        "no_such_package:command",
    ],
)
def test_what_has_none_has_an_empty_one(value: str) -> None:
    assert summary(value) == ""


def test_a_terminal_is_sent_no_commands_and_one_line() -> None:
    assert summary("loud_commands:coloured") == "Show [31mred[0m things."
    assert len(summary("loud_commands:long")) <= 80
