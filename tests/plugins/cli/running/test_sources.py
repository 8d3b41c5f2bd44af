"""Files and standard input as cells."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from interpstack import ConfigurationError, InterpreterStack, Limits
from interpstack_cli.running.sources import read_file, read_stdin
from interpstack_testing import FakeEngine


@pytest.fixture
def stack() -> InterpreterStack:
    return InterpreterStack(FakeEngine())


def test_a_file_is_a_cell_of_the_language_that_its_ending_tells(
    stack: InterpreterStack, tmp_path: Path
) -> None:
    file = tmp_path / "hello.py"
    file.write_text("\ufeff1 + 1", "utf-8")
    cell = read_file(str(file), stack)
    assert (cell.source, cell.name, cell.language) == ("1 + 1", "hello.py", "python")
    assert read_file(str(file), stack, "javascript").language == "javascript"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.py", b" \n", "is empty"),
        ("a.py", b"ok \xff", r"is not UTF-8 text \(byte 4\)"),
        ("a.xyz", b"1", r"the extension names no known language; use one of \.py"),
        ("a.py", b"x" * (Limits().source_bytes + 1), "is larger than the"),
        ("missing.py", None, "File .* not found. To run code from the command line, use -e CODE."),
    ],
    ids=["empty", "bytes", "ending", "large", "missing"],
)
def test_files_that_are_no_cells(
    stack: InterpreterStack, tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    file = tmp_path / name
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(ConfigurationError, match=message):
        read_file(str(file), stack)


def test_a_directory_is_no_cell(stack: InterpreterStack, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is a directory; name a file in it"):
        read_file(str(tmp_path), stack)


def test_standard_input_may_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ConfigurationError, match="standard input is closed"):
        read_stdin()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"6 * 7")))
    assert read_stdin("python").source == "6 * 7"
