"""The files of a folder that the demo's code may read."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpstack_demo.files import folder_tools, survey
from interpstack_demo.tally import Tally


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.txt").write_text("text")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "c.py").write_text("1")
    (tmp_path / "image.png").write_bytes(b"\xff\xfe\xfd")
    (tmp_path / "large.txt").write_text("x" * (2**20 + 1))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("secret")
    return tmp_path


def test_text_files_are_listed_and_all_else_is_reported(folder: Path) -> None:
    files, left_out = survey(folder)
    assert {one["path"]: one["bytes"] for one in files} == {"a/c.py": 1, "b.txt": 4}
    assert sorted(map(str, left_out)) == [
        "folders of tools, not searched: 1 (.git)",
        "larger than 1 MiB: 1 (large.txt)",
        "not UTF-8 text: 1 (image.png)",
    ]


def test_many_files_are_counted(folder: Path) -> None:
    for number in range(9):
        (folder / f"many{number}.txt").write_text("x")
    files, left_out = survey(folder, max_files=2)
    assert len(files) == 2
    (beyond,) = [one for one in left_out if one.reason == "beyond the first 2 files"]
    assert (beyond.count, len(beyond.examples)) == (9, 5)


def test_tools_read_inside_the_folder_alone(folder: Path) -> None:
    tally = Tally()
    list_files, read_text = folder_tools(folder, tally)
    assert [one["path"] for one in list_files.invoke({})["files"]] == ["a/c.py", "b.txt"]
    before = tally.chars_read
    assert read_text.invoke({"path": "b.txt"}) == "text"
    assert tally.chars_read == before + 4
    with pytest.raises(ValueError, match="lies outside the folder"):
        read_text.invoke({"path": "../other"})
