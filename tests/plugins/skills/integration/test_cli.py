"""`--skills` of `interpstack run` and `interpstack repl`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from interpstack_cli import main


def run(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, args, input=stdin, catch_exceptions=False)


CODE = 'import {x} from "@/skills/m"; x'


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_run_imports_skills(skill: Any, skills: Path, tmp_path: Path, language: str) -> None:
    skill("m", {"index.ts": "export const x: number = 1"})
    args = ("--skills", str(skills), "--language", language)
    assert run("run", *args, "-e", CODE).stdout == "1\n"
    (tmp_path / "go.js").write_text(CODE)
    assert run("run", "--skills", str(skills), str(tmp_path / "go.js")).stdout == "1\n"


def test_the_repl_imports_skills(skill: Any, skills: Path) -> None:
    skill("m", {"index.ts": "export const x: number = 1"})
    result = run("repl", "--skills", str(skills), stdin=f"{CODE}\nx + 1\n")
    assert result.stdout.splitlines() == ["1", "2"]


def test_without_the_option_there_are_none(skills: Path) -> None:
    result = run("run", "-e", CODE)
    assert result.exit_code == 1
    assert result.stderr.startswith("ModuleNotFound: there is no module")


def test_what_is_no_directory(tmp_path: Path) -> None:
    result = run("run", "--skills", str(tmp_path / "nope"), "-e", "1")
    assert result.exit_code == 2
    assert "--skills" in result.stderr
