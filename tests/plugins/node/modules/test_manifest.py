"""The part of `package.json` that says which file a name means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interpstack_node.modules.manifest import exported, imported, manifest

_IMPORT = frozenset({"node", "import"})
_REQUIRE = frozenset({"node", "require"})


@pytest.mark.parametrize(
    ("exports", "subpath", "file"),
    [
        ("./a.js", ".", "./a.js"),
        ("./a.js", "./b", None),
        ({"import": "./a.mjs", "require": "./a.cjs"}, ".", "./a.mjs"),
        ({"require": "./a.cjs", "default": "./a.js"}, ".", "./a.js"),
        ({"browser": "./b.js"}, ".", None),
        ({"node": {"import": "./n.mjs"}, "import": "./a.mjs"}, ".", "./n.mjs"),
        ({"node": {"require": "./n.cjs"}, "import": "./a.mjs"}, ".", "./a.mjs"),
        ({".": "./a.js", "./b": "./c.js"}, "./b", "./c.js"),
        ({".": "./a.js"}, "./package.json", None),
        ({"./x/*": "./lib/*.js"}, "./x/y/z", "./lib/y/z.js"),
        ({"./x/*": "./lib/*.js", "./x/private/*": None}, "./x/private/z", None),
        ({"./*.js": "./lib/*.mjs", "./*": "./other/*"}, "./a.js", "./lib/a.mjs"),
        ([{"browser": "./b.js"}, "./a.js"], ".", "./a.js"),
        ("../out.js", ".", None),
        ("/etc/passwd", ".", None),
        ("other", ".", None),
        (7, ".", None),
        (None, ".", None),
    ],
)
def test_exports(exports: Any, subpath: str, file: str | None) -> None:
    assert exported(exports, subpath, _IMPORT) == file


def test_conditions_of_the_importer() -> None:
    exports = {"import": "./a.mjs", "require": "./a.cjs"}
    assert exported(exports, ".", _REQUIRE) == "./a.cjs"
    endless: Any = {}
    endless["import"] = endless
    assert exported(endless, ".", _IMPORT) is None


def test_imports() -> None:
    imports = {"#a": "./a.js", "#dep": {"node": "fs", "default": "./x.js"}, "#p/*": "./p/*.js"}
    assert imported(imports, "#a", _IMPORT) == "./a.js"
    assert imported(imports, "#dep", _IMPORT) == "fs"
    assert imported(imports, "#p/q", _IMPORT) == "./p/q.js"
    assert imported(imports, "#none", _IMPORT) is None
    assert imported(["#a"], "#a", _IMPORT) is None


@pytest.mark.parametrize("text", ["", "[1]", "{", "[" * 100_000, '"x"'])
def test_a_manifest_of_another_form_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "package.json").write_text(text, "utf-8")
    assert manifest(tmp_path) == {}


def test_a_manifest_is_read_again_when_it_changes(tmp_path: Path) -> None:
    assert manifest(tmp_path) == {}
    for name in ("one", "three"):
        (tmp_path / "package.json").write_text(json.dumps({"name": name}), "utf-8")
        assert manifest(tmp_path)["name"] == name
