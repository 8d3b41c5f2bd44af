"""The static imports of a package, found at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interpstack_node.modules import graph
from interpstack_node.modules.finding import ModuleFinder
from interpstack_node.modules.places import Places
from interpstack_node.modules.questions import ModuleQuestions

Ask = Callable[[str], Any]
_FILES = {
    "p/package.json": '{"type": "module", "main": "a.js"}',
    "p/a.js": "import {\n  b, // that\n} from './lib/b.js';export*from\"./c.mjs\"\n"
    "import './d.cjs'\nimport fs from 'node:path'; import('./late.js'); import './absent.js'; "
    "import '../../out.js'",
    "p/lib/b.js": "export { default as a } from '../a.js'",
    "p/c.mjs": "export const text = 'import x from \"./nothing.js\"'",
    "p/d.cjs": "require('./late.js')",
    "p/late.js": "export {}",
}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "node_modules"
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (tmp_path / "out.js").write_text("export {}", "utf-8")
    return folder


@pytest.fixture
def ask(packages: Path) -> Ask:
    finder = ModuleFinder(Places((packages,), None), files=False, network=False)
    questions = ModuleQuestions(finder)
    return lambda name: list(questions.answers(["graph", "", name]))[-1]


def test_what_an_entry_imports_comes_with_it(ask: Ask, packages: Path) -> None:
    base = (packages / "p").as_uri()
    modules = ask(f"{base}/a.js")["modules"]
    assert sorted(modules) == [f"{base}/a.js", f"{base}/c.mjs", f"{base}/lib/b.js"]
    source, imports = modules[f"{base}/a.js"]
    assert source == _FILES["p/a.js"]
    assert imports == {
        "./lib/b.js": [f"{base}/lib/b.js", "module"],
        "./c.mjs": [f"{base}/c.mjs", "module"],
        "./d.cjs": [f"{base}/d.cjs", "commonjs"],
        "node:path": ["node:path", "builtin:real"],
    }
    assert modules[f"{base}/lib/b.js"][1] == {"../a.js": [f"{base}/a.js", "module"]}


def test_an_entry_outside_of_the_folders_is_refused(ask: Ask, packages: Path) -> None:
    answer = ask((packages.parent / "out.js").as_uri())
    assert answer["code"] == "ERR_MODULE_NOT_FOUND"


def test_files_are_read_again_when_they_have_changed(ask: Ask, packages: Path) -> None:
    entry, changed = (packages / "p/a.js").as_uri(), packages / "p/lib/b.js"
    first = ask(entry)["modules"]
    assert ask(entry)["modules"] is first
    changed.write_text("export const other = 1", "utf-8")
    assert ask(entry)["modules"][changed.as_uri()] == ["export const other = 1", {}]
    changed.unlink()
    assert changed.as_uri() not in ask(entry)["modules"]


def test_a_graph_is_bounded(ask: Ask, packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "_MOST_MODULES", 1)
    entry = (packages / "p/a.js").as_uri()
    assert list(ask(entry)["modules"]) == [entry]


def test_others_go_on_meanwhile(packages: Path) -> None:
    names = [f"m{number}.mjs" for number in range(40)]
    for name in names:
        (packages / "p" / name).write_text("", "utf-8")
    (packages / "p/a.js").write_text("".join(f"import './{one}';" for one in names), "utf-8")
    finder = ModuleFinder(Places((packages,), None), files=False, network=False)
    steps = list(ModuleQuestions(finder).answers(["graph", "", (packages / "p/a.js").as_uri()]))
    assert steps[:-1] == [None] * 5
    assert len(steps[-1]["modules"]) == 41
