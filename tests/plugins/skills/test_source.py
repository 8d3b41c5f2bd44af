"""Skills in a directory: what is read of it, and how much at most."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_skills import source
from interpstack_skills.source import DirectorySkills, as_source, checked_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    skill = tmp_path / "maths"
    (skill / "inner").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: maths\n---")
    (skill / "index.js").write_text("1")
    (skill / "inner" / "lib.js").write_text("2")
    (skill / "data.bin").write_bytes(b"\xff")
    (skill / ".hidden.js").write_text("3")
    (skill / "node_modules").mkdir()
    (skill / "node_modules" / "x.js").write_text("4")
    (tmp_path / "empty").mkdir()
    return tmp_path


async def test_code_files_of_a_skill_are_read(root: Path) -> None:
    files = await DirectorySkills(root, (".js",)).files("maths")
    assert files is not None
    assert sorted(files) == ["SKILL.md", "index.js", "inner/lib.js"]


@pytest.mark.parametrize("name", ["missing", "empty", "MATHS", "../maths", "."])
async def test_other_names_are_no_skills(root: Path, name: str) -> None:
    assert await DirectorySkills(root, (".js",)).files(name) is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MAX_FILES", 1, "more than 1 code files"),
        ("MAX_BYTES", 3, "its code has more than 3 bytes"),
        ("_MAX_ENTRIES", 2, "more than 2 entries"),
    ],
)
async def test_bounds_hold(
    root: Path, name: str, value: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, name, value)
    with pytest.raises(ValueError, match=message):
        await DirectorySkills(root, (".js",)).files("maths")


async def test_text_must_be_text(root: Path) -> None:
    with pytest.raises(ValueError, match=r"its file data\.bin is not UTF-8 text"):
        await DirectorySkills(root, (".bin",)).files("maths")


def test_a_source_may_be_any_object_with_files(root: Path) -> None:
    made = as_source(str(root), (".js",))
    assert isinstance(made, DirectorySkills)
    assert as_source(made, (".js",)) is made
    with pytest.raises(ConfigurationError, match="skills takes a directory or an object"):
        as_source(5, (".js",))


async def test_code_without_a_description_is_reported(root: Path) -> None:
    (root / "empty" / "index.js").write_text("1")
    with pytest.raises(ValueError, match=r"its folder has no SKILL\.md"):
        await DirectorySkills(root, (".js",)).files("empty")


CODE = "export const x = 1"
SURROGATE = "\ud800"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (["index.js"], "its source takes files as a mapping of paths to texts"),
        ({1: CODE}, "its source takes files as a mapping of paths to texts"),
        ({"index.js": CODE.encode()}, "its file index.js is not a text"),
        ({"SKILL.md": None, "index.js": CODE}, "its file SKILL.md is not a text"),
        ({"x" * 10**6 + ".js": 1}, f"its file {'x' * 100} is not a text"),
        ({f"{n}.js": "" for n in range(257)}, "it has more than 256 code files"),
        ({"index.js": "x" * 2**19 + "é" * 2**18 + "x"}, "its code has more than 1048576 bytes"),
        ({"index.js": CODE, "more.js": "x" * 80 * 2**20}, "its code has more than 1048576 bytes"),
    ],
)
def test_sources_are_not_trusted(files: Any, found: str) -> None:
    with pytest.raises(ValueError, match="it") as caught:
        checked_files(files, (".js",))
    assert str(caught.value) == found


def test_what_is_no_code_is_left_out() -> None:
    files = {"SKILL.md": SURROGATE, "index.js": CODE, "data.bin": b"", "notes.md": None}
    assert checked_files(files, (".js",)) == {"SKILL.md": SURROGATE, "index.js": CODE}
    assert checked_files(None, (".js",)) is None
