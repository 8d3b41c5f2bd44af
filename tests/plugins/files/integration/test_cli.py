"""`--files` of `interpstack run` and `interpstack repl`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from interpstack_cli import main


def run(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, args, input=stdin, catch_exceptions=False)


@pytest.mark.parametrize("command", [("run", "-"), ("repl",)])
def test_code_reads_the_files_of_a_directory(command: tuple[str, ...], directory: Path) -> None:
    name, *rest = command
    result = run(name, "--files", str(directory), *rest, stdin="await files.read('/readme.md')\n")
    assert "# Title" in result.stdout


def test_code_writes_only_where_the_option_says_so(directory: Path) -> None:
    write = "await files.write('/new.txt', 'new')"
    refused = run("run", "--files", str(directory), "-e", write)
    assert refused.exit_code != 0
    assert "code may only read these files" in refused.output + refused.stderr
    assert run("run", "--files", f"{directory}:rw", "-e", write).exit_code == 0
    assert (directory / "new.txt").read_text() == "new"


@pytest.mark.parametrize("wrong", ["", ":rw", "nowhere"])
def test_the_directory_must_exist(wrong: str) -> None:
    result = run("run", "--files", wrong, "-e", "1")
    assert result.exit_code == 2
    assert "there is no directory" in result.stderr
