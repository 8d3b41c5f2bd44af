"""Cells in the background that several processes continue, on one database."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from forked_programs import Program

from interpstack_cli import main

Start = Callable[..., Program]
PROGRAM = Path(__file__).parents[3] / "support" / "background_agent.py"
CODE = {
    "javascript": "const a = await tools.slow({n: 1}); const b = await tools.slow({n: 2}); a + b",
    "python": "a = await tools.slow(n=1)\nb = await tools.slow(n=2)\na + b",
}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts processes, each of which makes one call of the model."""
    started: list[Program] = []

    def one(engine: str, name: str, **args: Any) -> Program:
        call = json.dumps({"name": name, "args": args, "id": uuid.uuid4().hex})
        started.append(program := Program(PROGRAM, str(tmp_path), engine, call))
        return program

    yield one
    for program in started:
        program.close()


def answer(program: Program) -> str:
    """The answer to its call."""
    return str(json.loads(program.stdout.readline()))


def recorded(program: Program) -> None:
    """Wait until the calls in flight of a process have ended, and the process, too."""
    assert program.stdout.readline() == "recorded\n"
    assert program.wait() == 0


def cell_of(text: str) -> str:
    found = re.search(r'<running id="(\w+)">', text)
    assert found, text
    return found[1]


def effects(folder: Path) -> list[str]:
    return (folder / "effects").read_text().splitlines()


@pytest.mark.parametrize("engine", ["quickjs", "node", "monty"])
def test_another_process_continues_a_cell_and_repeats_no_call(
    start: Start, tmp_path: Path, engine: str
) -> None:
    code = CODE["python" if engine == "monty" else "javascript"]
    first = start(engine, "eval", code=code)
    cell = cell_of(answer(first))
    (tmp_path / "go-1").touch()
    recorded(first)
    second = start(engine, "wait", id=cell, seconds=0.3)
    assert "tools.slow(" in answer(second)
    (tmp_path / "go-2").touch()
    recorded(second)
    third = start(engine, "wait", id=cell, seconds=60)
    ended = answer(third)
    assert re.fullmatch(r"(<notice>.*</notice>\n)?<result>'?12'?</result>", ended)
    recorded(third)
    assert effects(tmp_path) == ["begun 1", "begun 2"]
    given = ["replay", "t", "--checkpointer", str(tmp_path / "checkpoints.db"), "--json"]
    done = CliRunner().invoke(main, [*given, "--engine", engine], catch_exceptions=False)
    (replayed,) = json.loads(done.stdout)
    assert (replayed["status"], replayed["cell"]["id"]) == ("ended", cell)
    assert ended.endswith(replayed["text"])
    assert effects(tmp_path) == ["begun 1", "begun 2"]


def test_a_process_does_not_take_calls_that_another_one_makes(start: Start, tmp_path: Path) -> None:
    first = start("quickjs", "eval", code="await tools.slow({n: 1})")
    cell = cell_of(answer(first))
    second = start("quickjs", "wait", id=cell, seconds=0.1)
    assert "calls in flight in another process" in answer(second)
    recorded(second)
    (tmp_path / "go-1").touch()
    recorded(first)
    third = start("quickjs", "wait", id=cell, seconds=60)
    assert answer(third) == "<result>1</result>"
    recorded(third)
    assert effects(tmp_path) == ["begun 1"]
