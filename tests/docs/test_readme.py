"""The README's quickstart runs and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from readme_trace import CODE, run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_quickstart_is_short_and_true() -> None:
    code, said = _blocks("python")[-1], _blocks("text")[0]
    assert len(code.splitlines()) <= 20
    ran = subprocess.run(
        [sys.executable, "-"], input=code, capture_output=True, text=True, check=True
    )
    assert ran.stdout == said


@pytest.mark.parametrize("way", ["calls", "parallel calls", "code"])
def test_the_trace_was_measured(way: str) -> None:
    turns, tokens, answer = run(way)
    assert answer
    row = f"| **{turns}** | **{tokens:,}** |" if way == "code" else f"| {turns} | {tokens:,} |"
    assert row in README
    assert CODE in README


def test_few_links_lead_away() -> None:
    pages = set(re.findall(r"\]\((docs/[^)#]+\.md)", README))
    assert len(pages) <= 10


def test_the_commands_are_there() -> None:
    set_up, tests = _blocks("bash")
    assert set_up.strip().endswith("interpstack demo")
    assert "tox" in tests
    assert README.index("<!-- test command -->") < README.index(tests)


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((docs/[^)#]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).is_file()
