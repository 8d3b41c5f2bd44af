"""The README's quickstart runs and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_quickstart_is_short_and_true() -> None:
    code, said = _blocks("python")[0], _blocks("text")[0]
    assert len(code.splitlines()) <= 20
    ran = subprocess.run(
        [sys.executable, "-"], input=code, capture_output=True, text=True, check=True
    )
    assert ran.stdout == said


def test_the_commands_are_there() -> None:
    set_up, tests = _blocks("bash")
    assert set_up.strip().endswith("interpstack demo")
    assert "tox" in tests
    assert README.index("<!-- test command -->") < README.index(tests)


@pytest.mark.parametrize(("page", "folder"), [("README.md", "docs/"), ("docs/index.md", "")])
def test_every_page_is_named_where_a_reader_begins(page: str, folder: str) -> None:
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*/*.md")}
    pages = {path for path in pages if not path.startswith("changelog.d/")} | {"contributing.md"}
    text = (ROOT / page).read_text("utf-8")
    assert [path for path in sorted(pages) if f"]({folder}{path})" not in text] == []


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((docs/[^)#]+)\)", README))))
def test_links_lead_somewhere(target: str) -> None:
    assert (ROOT / target).is_file()
