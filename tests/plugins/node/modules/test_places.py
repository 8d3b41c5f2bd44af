"""The folders that modules come from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_node.modules.places import VARIABLE, inside, places


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    made = {name: tmp_path / name for name in ("a", "b", "work", "none")}
    for name, folder in made.items():
        folder.mkdir()
        if name != "none":
            (folder / "node_modules").mkdir()
    return made


def test_options_come_first_and_the_working_folder_last(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, os.pathsep.join([str(folders["a"]), str(folders["b"])]))
    found = places([folders["b"] / "node_modules", folders["none"]], folders["work"])
    assert [root.parent.name for root in found.packages] == ["b", "work"]
    assert found.working == folders["work"].resolve()


def test_the_environment_stands_in_for_the_option(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, os.pathsep.join([str(folders["b"]), "", str(folders["a"])]))
    monkeypatch.chdir(folders["a"])
    found = places(None, None)
    assert [root.parent.name for root in found.packages] == ["b", "a"]
    assert found.working is None
    assert places([], None).packages == found.packages[1:]


@pytest.mark.parametrize("wrong", [["/no/such/folder"], "text"])
def test_wrong_folders_are_refused(wrong: list[str] | str) -> None:
    with pytest.raises(ConfigurationError, match="module_dirs"):
        places(wrong, None)
    with pytest.raises(ConfigurationError, match="working_dir: there is no folder"):
        places(None, "/no/such/folder")


def test_inside() -> None:
    assert inside(Path("/a/b"), Path("/a"))
    assert inside(Path("/a"), Path("/a"))
    assert not inside(Path("/ab"), Path("/a"))
