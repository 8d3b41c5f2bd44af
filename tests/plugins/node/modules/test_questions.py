"""Questions of kernels about modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpstack import GuestError, Request, Settlement
from interpstack_node.modules.places import Places
from interpstack_node.modules.questions import HostImports, ModuleQuestions
from interpstack_node.modules.resolvers import Resolvers


def test_kernels_learn_the_working_folder(tmp_path: Path) -> None:
    about = _questions(Places((), tmp_path)).about
    assert about == {"cwd": str(tmp_path), "network": False}


def test_without_folders_there_is_no_package_to_look_for() -> None:
    answering = _questions(Places()).answer(["has", "", "lodash"])
    with pytest.raises(StopIteration) as ended:
        next(answering)
    assert ended.value.value == "false"


def test_a_missing_package_is_explained_with_the_folders(tmp_path: Path) -> None:
    folders = (tmp_path / "one", tmp_path / "two")
    imports = HostImports(_questions(Places(folders)))
    asked = ["lodash", "@a/b/c", "@/skills/sum", "#own", "https://x", 5, "other"]
    imports.note([Request(number, "module", wire) for number, wire in enumerate(asked)])
    imports.note([Request(100, "kit.module", "lodash")])
    more = f"; no such package is in {folders[0]} or {folders[1]} (the engine's option module_dirs "
    for number, found in enumerate((more, more, "", "", "", "")):
        error = imports.explained(
            Settlement(number, error=GuestError("ModuleNotFound", "no"))
        ).error
        assert error is not None
        assert error.name == "ModuleNotFound"
        assert error.message.startswith(f"no{found}"), asked[number]
        assert found or error.message == "no"
    for answer in (Settlement(6), Settlement(100, error=GuestError("E", "no")), Settlement(101)):
        assert imports.explained(answer) is answer


def test_without_folders_the_option_is_named() -> None:
    imports = HostImports(_questions(Places()))
    imports.note([Request(1, "module", "lodash")])
    error = imports.explained(Settlement(1, error=GuestError("ModuleNotFound", "no"))).error
    assert error is not None
    assert error.message.startswith("no; no folder of packages is searched: ")


def _questions(places: Places) -> ModuleQuestions:
    return ModuleQuestions(places, network=False, resolvers=Resolvers(places))
