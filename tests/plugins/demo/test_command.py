"""`interpstack demo`: every file is counted or told of, and whatever is wrong is one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from langchain_core.language_models import BaseChatModel
from rich.console import Console

from interpstack_cli import main
from interpstack_demo.command import run_demo
from interpstack_demo.files import survey
from interpstack_demo.model import ScriptedModel
from interpstack_demo.tally import Tally


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file of each kind."""
    made = tmp_path / "folder"
    (made / "deep" / "er").mkdir(parents=True)
    (made / ".git").mkdir()
    (made / ".git" / "config").write_text("x")
    (made / "a.py").write_text("one\ntwo\n")
    (made / "deep" / "er" / "b.txt").write_text("words words\n")
    (made / "deep" / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    (made / "large.txt").write_bytes(b"x" * (2**20 + 1))
    (made / "link").symlink_to("a.py")
    return made


def _shown(folder: Path, columns: int = 60) -> tuple[Tally, str]:
    stream = StringIO()
    tally = run_demo(folder, ScriptedModel(), Console(file=stream, width=columns))
    return tally, stream.getvalue()


def test_every_file_is_counted_or_reported(folder: Path) -> None:
    tally, shown = _shown(folder)
    assert "2 files with 3 lines" in " ".join(shown.split())
    for found in (
        "folders of tools, not searched: 1 (.git)",
        "symbolic links: 1 (link)",
        "not UTF-8 text: 1 (deep/picture.png)",
        "larger than 1 MiB: 1 (large.txt)",
    ):
        assert f"Left out: {found}" in shown
    assert sum(one.count for one in tally.left_out) == 4


def test_files_beyond_the_most_are_reported(folder: Path) -> None:
    for number in range(20):
        (folder / f"f{number:02}.txt").write_text("x")
    listed, left_out = survey(folder, max_files=10)
    assert len(listed) == 10
    beyond = next(one for one in left_out if one.reason == "beyond the first 10 files")
    assert beyond.count == 12
    assert str(beyond).endswith(", …)")


def test_what_cannot_be_read_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refuses(path: Any) -> Any:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuses)
    assert "cannot be read (Permission denied): 1 (deep)" in ", ".join(map(str, survey(folder)[1]))


def test_an_empty_folder_is_answered(tmp_path: Path) -> None:
    assert "0 files" in " ".join(_shown(tmp_path)[1].split())


@pytest.mark.parametrize("columns", [30, 60, 200])
def test_code_and_answers_are_never_cut(folder: Path, columns: int) -> None:
    from importlib.resources import files

    shown = "".join(_shown(folder, columns)[1].split())
    for name in ("count.js", "rank.js"):
        code = (files("interpstack_demo") / name).read_text("utf-8")
        assert "".join(code.split()) in shown


def test_names_of_files_send_no_commands_to_the_terminal(folder: Path) -> None:
    (folder / "\x1b]0;title\x07.bin").write_bytes(b"\xff")
    (folder / "\x1b[2Jclear.py").write_text("x\n" * 9)
    assert "\x1b" not in _shown(folder)[1]


class Unreachable(BaseChatModel):
    """A provider that cannot be reached."""

    @property
    def _llm_type(self) -> str:
        return "unreachable"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        cause = OSError("Name or service not known")
        raise ConnectionError("Connection error.\nMore of it.") from cause


def test_a_folder_without_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    done = CliRunner().invoke(main, ["demo", str(tmp_path)])
    assert (done.exit_code, done.stdout) == (2, "")
    text = "has no text files to read; name another FOLDER\n"
    assert done.stderr == f"Error: {tmp_path.resolve()} {text}"


def _fails(name: str) -> Any:
    raise ImportError(f"{name} needs the package langchain-nothing.\nInstall it.")


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (
            lambda name: Unreachable(),
            "--model 'some:model' did not answer: ConnectionError: Connection error. More of it. "
            "<- OSError: Name or service not known; check the network",
        ),
        (_fails, "--model 'some:model' cannot be used: ImportError: some:model needs the package"),
    ],
)
def test_a_model_that_cannot_be_used_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[str], Any], found: str
) -> None:
    monkeypatch.setattr("langchain.chat_models.init_chat_model", make)
    done = CliRunner().invoke(main, ["demo", str(folder), "--model", "some:model"])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"Error: {found}")
    assert len(done.stderr.splitlines()) == 1


def test_a_missing_extra_is_named_before_anything_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interpstack_demo.command.find_spec", lambda name: None)
    done = CliRunner().invoke(main, ["demo", str(folder), "--workflow"])
    assert done.exit_code == 2
    assert done.stderr.endswith("run: pip install 'interpstack[workflows]'\n")
    assert done.stdout == ""
