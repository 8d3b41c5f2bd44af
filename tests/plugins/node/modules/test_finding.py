"""From a specifier to a module, and no further than the folders that the host has named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from interpstack_node.modules.finding import ModuleFinder
from interpstack_node.modules.places import Places
from interpstack_node.modules.specifiers import UnresolvedSpecifier


def _write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _package(folder: Path, manifest: object = None, **files: str) -> None:
    _write(folder / "package.json", json.dumps(manifest or {}))
    for name, text in files.items():
        _write(folder / name.replace("__", "/").replace("_", "."), text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    packages = tmp_path / "base" / "node_modules"
    dual = {"exports": {"import": "./i.mjs", "require": "./r.cjs"}, "name": "dual"}
    _package(packages / "dual", dual, i_mjs="", r_cjs="")
    _package(packages / "old", {"main": "lib/main"}, lib__main_js="", index_js="")
    _package(packages / "none", index_js="")
    _package(packages / "esm", {"type": "module"}, index_js="", data_json="{}")
    _package(packages / "native", {"main": "x.node"}, x_node="")
    _package(packages / "@scope" / "pack", {"imports": {"#dep": "dual"}}, index_js="", sub__a_js="")
    _package(packages / "old" / "node_modules" / "inner", index_js="")
    _write(tmp_path / "outside" / "index.js")
    (packages / "escape").symlink_to(tmp_path / "outside")
    (packages / "esm" / "out.js").symlink_to(tmp_path / "outside" / "index.js")
    (packages / "alias").symlink_to(packages / "none")
    _write(tmp_path / "work" / "a.mjs")
    _write(tmp_path / "work" / "sub" / "b.js")
    _write(tmp_path / "work" / "data.json", "{}")
    (tmp_path / "work" / "link.mjs").symlink_to(tmp_path / "outside" / "index.js")
    _package(tmp_path / "node_modules" / "above", index_js="")
    return tmp_path.resolve()


@pytest.fixture
def finder(root: Path) -> ModuleFinder:
    return ModuleFinder(
        Places((root / "base" / "node_modules",), root / "work"), files=False, network=False
    )


def _base(root: Path, name: str) -> str:
    return (root / "base" / "node_modules").as_uri() + f"/{name}"


@pytest.mark.parametrize(
    ("specifier", "file", "kind"),
    [
        ("dual", "dual/i.mjs", "module"),
        ("old", "old/lib/main.js", "commonjs"),
        ("old/index", "old/index.js", "commonjs"),
        ("none", "none/index.js", "commonjs"),
        ("esm", "esm/index.js", "module"),
        ("esm/data.json", "esm/data.json", "json"),
        ("@scope/pack", "@scope/pack/index.js", "commonjs"),
        ("@scope/pack/sub/a.js", "@scope/pack/sub/a.js", "commonjs"),
        ("alias", "none/index.js", "commonjs"),
    ],
)
def test_packages(finder: ModuleFinder, root: Path, specifier: str, file: str, kind: str) -> None:
    found = finder.find("", specifier, require=False)
    assert (found.name, found.kind, found.local) == (_base(root, file), kind, False)
    assert finder.has(specifier)


def test_packages_find_each_other(finder: ModuleFinder, root: Path) -> None:
    def find(base: str, specifier: str, *, require: bool = True) -> str:
        name = finder.find(_base(root, base), specifier, require=require).name
        return name.removeprefix(_base(root, "").rstrip("/"))

    assert find("old/lib/main.js", "inner") == "/old/node_modules/inner/index.js"
    assert find("old/node_modules/inner/index.js", "dual") == "/dual/r.cjs"
    assert find("dual/i.mjs", "dual", require=False) == "/dual/i.mjs"
    assert find("@scope/pack/index.js", "#dep", require=False) == "/dual/i.mjs"
    assert find("@scope/pack/index.js", "./sub/a") == "/@scope/pack/sub/a.js"
    assert find("@scope/pack/sub/a.js", "..") == "/@scope/pack/index.js"


def test_local_files(finder: ModuleFinder, root: Path) -> None:
    found = finder.find("", "./a.mjs", require=False)
    assert (found.name, found.kind, found.local) == ((root / "work/a.mjs").as_uri(), "module", True)
    for specifier in (
        "./b.js",
        str(root / "work/a.mjs"),
        (root / "work/a.mjs").as_uri(),
        "../a.mjs",
    ):
        assert finder.find((root / "work/sub/b.js").as_uri(), specifier, require=False).local
    assert finder.source(found.name) == ""


_NOT_FOUND = "Module not found"
_ADVICE = "Unsupported import specifier"


@pytest.mark.parametrize(
    ("specifier", "message"),
    [
        ("absent", _NOT_FOUND),
        ("above", _NOT_FOUND),  # no walk up to parents of the base
        ("escape", _NOT_FOUND),
        ("esm/out.js", _NOT_FOUND),
        ("dual/other", "Package path not exported"),
        ("native", "Native addons are not allowed"),
        ("./missing.mjs", _NOT_FOUND),
        ("./link.mjs", _NOT_FOUND),
        ("../outside/index.js", "It leads out of the working folder (option working_dir)."),
        ("sub/../../outside/index.js", _ADVICE),
        ("./sub/../../outside/index.js", "It leads out of the working folder"),
        ("/etc/hosts.js", "It leads out of the working folder"),
        ("./sub", "Directory imports are not supported"),
        ("./data.json", "Only .js and .mjs files are supported"),
        ("/etc/passwd", "Only .js and .mjs files are supported"),
        ("file:///etc/passwd", "Only .js and .mjs files are supported"),
        ("file://host/a.mjs", _NOT_FOUND),
        ("./a.mjs?x=1", "Only .js and .mjs"),
        ("https://example.com/x.mjs", _ADVICE),
        ("data:text/javascript,1", _ADVICE),
        ("a\\b", _ADVICE),
        (" lodash", _ADVICE),
        ("", _ADVICE),
        ("@scope", _ADVICE),
        ("dual/../../../outside/index.js", _ADVICE),
        (".hidden", _ADVICE),
        ("#dep", _NOT_FOUND),
        ("process", 'Importing module "process" is not allowed'),
        ("node:child_process", 'Importing module "node:child_process" is not allowed'),
        ("node:nope", _NOT_FOUND),
        ("x" * 3000, _NOT_FOUND),
        ("./" + "x" * 300 + ".mjs", _NOT_FOUND),
        ("./\0.mjs", _NOT_FOUND),
        ("./\ud800.mjs", _NOT_FOUND),
    ],
)
def test_refusals(finder: ModuleFinder, specifier: str, message: str) -> None:
    with pytest.raises(UnresolvedSpecifier, match=re.escape(message)):
        finder.find("", specifier, require=False)


def test_loaders_of_the_host_have_other_names(finder: ModuleFinder) -> None:
    assert not finder.has("@/skills/sum")
    assert not finder.has("absent")
    assert finder.has("node:child_process")
    assert finder.has("./absent.mjs")


def test_without_a_working_folder_there_are_no_files(root: Path) -> None:
    finder = ModuleFinder(Places((root / "base" / "node_modules",)), files=False, network=False)
    with pytest.raises(UnresolvedSpecifier, match="has no working folder"):
        finder.find("", "./a.mjs", require=False)


def test_only_what_can_be_found_can_be_read(finder: ModuleFinder, root: Path) -> None:
    for path in (root / "outside/index.js", Path("/etc/passwd"), root / "work/link.mjs"):
        with pytest.raises(UnresolvedSpecifier):
            finder.source(path.as_uri())
