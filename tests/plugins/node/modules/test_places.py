"""The folders that modules come from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_node.modules.places import VARIABLE, places


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


def test_a_link_is_searched_by_the_name_that_node_looks_for(tmp_path: Path) -> None:
    for name, target in (("a", "other"), ("b", "more/node_modules")):
        (tmp_path / target).mkdir(parents=True)
        (tmp_path / name).mkdir()
        (tmp_path / name / "node_modules").symlink_to(tmp_path / target)
    base = tmp_path.resolve()
    found = places([base / "a", base / "b"], base / "a")
    link, other, real = base / "a/node_modules", base / "other", base / "more/node_modules"
    assert found.packages == (link, real)
    assert found.roots == (link, real, other)
    assert found.readable == tuple(map(str, (base / "a", real, other)))
