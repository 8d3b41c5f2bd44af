"""`interpstack demo --workflow`: its numbers are those of the files."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from langchain_core.language_models import BaseChatModel
from rich.console import Console

import interpstack
from interpstack_cli import main
from interpstack_demo.workflow.run import WorkflowModels, run_workflow
from interpstack_demo.workflow.scripted import ScriptedReader, ScriptedWriter

OFFLINE = WorkflowModels(ScriptedReader(), ScriptedWriter())


def counted(folder: Path) -> dict[str, int]:
    """Files, lines and characters of a folder, counted in another way than the demo does."""
    found = {"files": 0, "lines": 0, "chars": 0}
    for at, inside, names in os.walk(folder):
        inside[:] = [name for name in inside if name != "__pycache__"]
        for name in names:
            data = Path(at, name).read_bytes()
            found["files"] += 1
            found["lines"] += data.count(b"\n") + (data != b"" and not data.endswith(b"\n"))
            found["chars"] += len(data.decode("utf-8"))
    return found


def shown(folder: Path, models: WorkflowModels = OFFLINE) -> tuple[Any, Any, str]:
    stream = StringIO()
    tally, result = run_workflow(folder, models, Console(file=stream, width=100))
    return tally, result, stream.getvalue()


def test_the_numbers_of_the_package_are_true() -> None:
    folder = Path(interpstack.__file__).parent
    expected = counted(folder)
    done = CliRunner().invoke(main, ["demo", "--workflow"])
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split())
    text = "The folder has {files} files with {lines} lines and {chars} characters."
    assert text.format(**expected) in words
    for title, number in (
        ("files", expected["files"]),
        ("lines", expected["lines"]),
        ("characters", expected["chars"]),
        ("inner calls", expected["files"]),
        ("characters read by code", expected["chars"]),
    ):
        assert f"│ {title} │ {number:,} │" in words


def test_the_tree_and_the_figures_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    for number in range(30):
        (tmp_path / "a b" / f"f{number:02}.txt").write_text("é\n" * number, "utf-8")
    (tmp_path / "Makefile").write_text("no newline", "utf-8")
    (tmp_path / 'quo"te\n.py').write_text("x\n\n", "utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff")
    tally, result, text = shown(tmp_path)
    totals = result.result["totals"]
    assert {key: totals[key] for key in ("files", "lines", "chars")} == {
        "files": 32,
        "lines": sum(range(30)) + 3,
        "chars": 2 * sum(range(30)) + 13,
    }
    assert totals["types"][0] == {"type": "txt", "files": 30, "lines": 435}
    assert totals["types"][1:] == [
        {"type": "py", "files": 1, "lines": 2},
        {"type": "(none)", "files": 1, "lines": 1},
    ]
    assert [one["path"] for one in totals["longest"]] == [
        f"a b/f{n}.txt" for n in range(29, 24, -1)
    ]
    assert (tally.inner_calls, tally.evals, tally.model_turns) == (32, 4, 9)
    for line in ("✓ librarian files", "✓ reader a b (3)", "✓ writer report", "inventory: ok"):
        assert line in text
    assert "Left out: not UTF-8 text: 1 (bytes)" in text


class Forgetful(ScriptedReader):
    """A reader that counts no file of some shelf, and says so."""

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        result = super()._generate(messages, *args, **kwargs)
        message: Any = result.generations[0].message
        if not message.tool_calls and '"path":"b/' in message.text:
            message.content = '{"files":0,"lines":0,"chars":0,"types":[],"longest":[]}'
        return result


def test_shelves_that_were_not_counted_are_reported_and_not_added(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f.txt").write_text("line\n", "utf-8")
    _, result, text = shown(tmp_path, WorkflowModels(Forgetful(), ScriptedWriter()))
    assert result.result["totals"]["files"] == 1
    assert "Not counted: 1 files of b: 0 of 1 files were counted" in text


class Unreachable(BaseChatModel):
    """A provider that cannot be reached."""

    @property
    def _llm_type(self) -> str:
        return "unreachable"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("Connection error.\nMore of it.")


def test_a_model_that_does_not_answer_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.txt").write_text("x", "utf-8")
    monkeypatch.setattr("langchain.chat_models.init_chat_model", lambda name: Unreachable())
    done = CliRunner().invoke(main, ["demo", str(tmp_path), "--workflow", "--model", "some:model"])
    assert done.exit_code == 2
    assert done.stderr.splitlines() == [
        "Error: --model 'some:model' did not answer: Error: no shelf was counted: Connection "
        "error. More of it.; check the network, the model's name and its API key"
    ]
