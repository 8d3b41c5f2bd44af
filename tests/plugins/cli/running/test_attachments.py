from __future__ import annotations

import io
import json
import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError, Outcome
from interpstack_cli.running.attachments import Gallery
from interpstack_display.api import Attachment

PNG = Attachment(b"\x89PNG\r\n\x1a\n0", "image/png", "a.png")
URL = "data:image/png;base64,iVBORw0KGgow"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the system makes new folders."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm-kitty")
    return tmp_path


def outcome(*items: Any) -> Outcome:
    return Outcome(attachments=items)


def test_a_pipe_gets_nothing_and_files_are_saved_with_their_path(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gallery = Gallery()
    gallery.show(outcome(PNG, ValueError(), Attachment(b"hi", "text/plain")))
    gallery.show(outcome(PNG))
    out, err = capsys.readouterr()
    (made,) = folders.iterdir()
    assert out == ""
    assert err.splitlines() == [
        f"Shown 1: image/png, 9 bytes, a.png: saved as {made / 'shown-1.png'}",
        f"Shown 2: text/plain, 2 bytes: saved as {made / 'shown-1.txt'}",
        f"Shown 1: image/png, 9 bytes, a.png: saved as {made / 'shown-2.png'}",
    ]
    assert (made / "shown-2.png").read_bytes() == PNG.data
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_a_terminal_draws_images_and_prints_harmless_texts(
    folders: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    texts = Attachment(b"a\tb\n\x1b]0;title\x07 \xc2\x9b31m", "text/plain")
    Gallery().show(outcome(PNG, texts, Attachment(b"x" * 5000, "text/plain")))
    drawn, *lines = terminal.getvalue().splitlines()
    assert drawn == "\x1b_Gf=100,a=T,m=0;iVBORw0KGgow\x1b\\"
    assert lines == ["a\tb", "\\x1b]0;title\\x07 \\x9b31m"]
    assert [one.name for one in next(folders.iterdir()).iterdir()] == ["shown-1.txt"]


@pytest.mark.parametrize(
    ("data", "mime_type", "ending"),
    [
        (b"\xff\xd8\xff", "image/jpeg", ".jpg"),
        (b"RIFF0000WEBP", "image/webp", ".webp"),
        (b"a", "text/markdown", ".md"),
        (b"a", "text/csv", ".csv"),
        (b"<svg/>", "image/svg+xml", ".svg"),
        (b"%PDF-", "application/pdf", ".pdf"),
        (b"a", "application/x-unheard-of", ".bin"),
    ],
)
def test_the_type_decides_the_ending_and_no_file_is_replaced(
    tmp_path: Path, data: bytes, mime_type: str, ending: str
) -> None:
    folder = tmp_path / "new" / "folder"
    for number in (1, 2):
        (found,) = Gallery(folder).saved(outcome(Attachment(data, mime_type, "x.exe")))
        assert found["path"] == str(folder / f"shown-{number}{ending}")
        assert Path(found["path"]).read_bytes() == data


def test_a_folder_that_takes_no_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=r"cannot write to .*folder: .*--save"):
        Gallery(tmp_path / "file" / "folder").show(outcome(PNG))


@pytest.mark.parametrize("command", [["run", "-e", "console.log(7)"], ["repl"]])
def test_a_folder_that_takes_no_files_is_refused_before_code_runs(
    run: Any, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "file").write_text("")
    result = run(*command, "--save", "file/folder", stdin="console.log(7)\n")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert "cannot write to file/folder: " in result.stderr


def test_an_empty_name_is_no_folder(run: Any, tmp_path: Path) -> None:
    result = run("run", "-e", "await display('a')", "--save", "")
    assert result.exit_code == 2
    assert "'--save': takes a folder, such as '.'; got an empty name" in result.stderr
    assert [*tmp_path.iterdir()] == []


def test_run_saves_where_it_is_asked_to(run: Any, tmp_path: Path) -> None:
    code = f"await display('{URL}', {{name: 'a.png'}}); 5"
    result = run("run", "-e", code, "--save", "out")
    assert (result.stdout, result.exit_code) == ("5\n", 0)
    path = Path("out") / "shown-1.png"
    assert result.stderr == f"Shown 1: image/png, 9 bytes, a.png: saved as {path}\n"
    assert (tmp_path / path).read_bytes() == PNG.data
    data = json.loads(run("run", "-e", code, "--save", "out", "--json").stdout)
    assert data["attachments"] == [
        {
            "mime_type": "image/png",
            "name": "a.png",
            "bytes": 9,
            "path": str(Path("out") / "shown-2.png"),
        }
    ]


def test_a_cell_that_fails_has_shown_what_it_showed(run: Any) -> None:
    result = run("run", "-e", f"await display('{URL}'); null.x", "--save", "out")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].endswith("shown-1.png")


def test_the_repl_saves_too(run: Any, tmp_path: Path) -> None:
    typed = f"await display('{URL}')\nawait display('{URL}')\n".encode()
    result = run("repl", "--save", "out", stdin=typed)
    assert [line[-11:] for line in result.stderr.splitlines()] == ["shown-1.png", "shown-2.png"]
    assert len(list((tmp_path / "out").iterdir())) == 2
