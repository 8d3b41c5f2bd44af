"""Files of packages, by their manifests and by guesses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interpstack_node.modules.package_files import (
    FoundModule,
    folders_above,
    in_package,
    package_file,
    package_folder,
    real_file,
)
from interpstack_node.modules.places import Places
from interpstack_node.modules.specifiers import UnresolvedSpecifier, address_of

_IMPORT = frozenset({"import"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "node_modules"


def _package(folder: Path, manifest: object, *files: str) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("", "utf-8")
    (folder / "package.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def test_a_manifest_leads_to_a_file(root: Path) -> None:
    pack = _package(root / "pack", {"exports": {".": "./a.mjs"}}, "a.mjs", "b.mjs")
    found = FoundModule(address_of(pack / "a.mjs"), "module")
    assert in_package(pack, root, "pack", _IMPORT) == found
    with pytest.raises(UnresolvedSpecifier, match=r"not exported: pack/b\.mjs") as refused:
        in_package(pack, root, "pack/b.mjs", _IMPORT)
    assert refused.value.code == "ERR_PACKAGE_PATH_NOT_EXPORTED"


def test_a_wrong_main_leads_to_the_index(root: Path) -> None:
    pack = _package(root / "pack", {"main": "absent", "type": "module"}, "index.js", "x/index.js")
    assert in_package(pack, root, "pack", _IMPORT).name == address_of(pack / "index.js")
    assert in_package(pack, root, "pack/x", _IMPORT).kind == "module"


def test_endings_are_guessed_only_where_they_may_be_missing(root: Path) -> None:
    pack = _package(root / "pack", {}, "a.cjs", "a.node")
    assert package_file(pack / "a.cjs", root, "x").kind == "commonjs"
    with pytest.raises(UnresolvedSpecifier, match="Module not found"):
        package_file(pack / "a", root, "x")
    with pytest.raises(UnresolvedSpecifier, match="Native addons"):
        package_file(pack / "a", root, "x", guess=True)
    with pytest.raises(UnresolvedSpecifier, match="Module not found"):
        package_file(pack / "a.cjs", root / "other", "x")


def test_folders_of_packages(root: Path, tmp_path: Path) -> None:
    pack = _package(root / "pack", {}, "lib/a.js", "node_modules/inner/index.js")
    assert package_folder(pack / "lib", root) == pack
    assert package_folder(root, root) is None
    places = Places((root, tmp_path / "more"))
    above = folders_above(pack / "lib", root, places)
    assert above[0] == pack / "node_modules"
    assert above[-2:] == places.packages


def test_only_regular_files_are_files(root: Path) -> None:
    pack = _package(root / "pack", {}, "a.js")
    assert real_file(pack / "a.js") == pack / "a.js"
    for path in (pack, pack / "absent", pack / "a\0b"):
        assert real_file(path) is None
