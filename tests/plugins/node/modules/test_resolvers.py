"""From a specifier to a module, by Node, within the folders that the host has named."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from kernels import kernel_config

from interpstack import EngineFailure
from interpstack_javascript.node_runtime import find_node
from interpstack_node.kernels import programs
from interpstack_node.kernels.starting.sandbox import choose_sandbox
from interpstack_node.kernels.waiting import KernelWait, converse_blocking
from interpstack_node.modules.places import Places, places
from interpstack_node.modules.resolvers import Resolvers

Ask = Callable[[str, str, str], Any]


def _write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _package(folder: Path, manifest: object = None, **files: str) -> None:
    _write(folder / "package.json", json.dumps(manifest or {}))
    for name, text in files.items():
        _write(folder / name.replace("__", "/").replace("_", "."), text)


def _sandboxes() -> list[str]:
    found = ["none"]
    with suppress(EngineFailure):
        found.append(choose_sandbox("bubblewrap", find_node().path).value)
    return found


def _resolvers(
    folders: Places, sandbox: str = "none", *, requires_modules: bool = True
) -> Resolvers:
    resolvers = Resolvers(folders)
    node = find_node().path
    config = kernel_config(node, sandbox=choose_sandbox(sandbox, node), most_bytes=2**26)
    resolvers.start_like(config, requires_modules=requires_modules)
    return resolvers


def _answer(resolvers: Resolvers, *question: str) -> Any:
    return json.loads(converse_blocking(_waiting(resolvers, question)))


def _waiting(resolvers: Resolvers, question: tuple[str, ...]) -> Any:
    asking = resolvers.ask(question)
    try:
        while True:
            wait = next(asking)
            assert wait is not None  # no other question is asked
            yield wait
    except StopIteration as end:
        return end.value


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root").resolve()
    packages = folder / "base" / "node_modules"
    dual = {"exports": {"import": "./i.mjs", "require": "./r.cjs"}, "name": "dual"}
    _package(packages / "dual", dual, i_mjs="", r_cjs="")
    sync = {"exports": {"module-sync": "./m.mjs", "default": "./d.cjs"}}
    _package(packages / "sync", sync, m_mjs="", d_cjs="")
    patterns = {"./x/*": "./lib/*.js", "./x/private/*": None, "./gone": "./gone.js"}
    _package(packages / "patterns", {"exports": patterns}, lib__a_js="", lib__private__b_js="")
    _package(packages / "old", {"main": "lib/main"}, lib__main_js="", index_js="", sub__index_js="")
    _package(packages / "wrong-main", {"main": "absent"}, index_js="")
    _package(packages / "none", index_js="")
    _package(packages / "esm", {"type": "module"}, index_js="", data_json="{}")
    _package(packages / "native", {"main": "x.node"}, x_node="", a_wasm="")
    about = {"imports": {"#dep": "dual", "#fs": "fs", "#p/*": "./sub/*.js", "#out": "../x.js"}}
    _package(packages / "@scope" / "pack", about, index_js="", sub__a_js="")
    _package(packages / "old" / "node_modules" / "inner", index_js="")
    _package(packages / "broken", index_js="")
    _write(packages / "broken" / "package.json", "{")
    _write(folder / "outside" / "index.js")
    (packages / "escape").symlink_to(folder / "outside")
    (packages / "esm" / "out.js").symlink_to(folder / "outside" / "index.js")
    (packages / "alias").symlink_to(packages / "none")
    # As pnpm installs a package.
    store = packages / ".pnpm" / "linked@1" / "node_modules"
    _package(store / "linked", index_js="")
    _package(store / "of-linked", index_js="")
    (packages / "linked").symlink_to(store / "linked")
    _package(folder / "second" / "node_modules" / "dual", {"main": "second.js"}, second_js="")
    _package(folder / "second" / "node_modules" / "more", index_js="")
    _write(folder / "work" / "a.mjs", "\ufeffexport {}")
    _write(folder / "work" / "sub" / "b.js")
    _write(folder / "work" / "a b%.mjs")
    _write(folder / "work" / "data.json", "{}")
    _write(folder / "work" / "large.mjs", "/" * (2**24 + 1))
    _write(folder / "base" / "package.json", '{"name": "self", "exports": "./self.js"}')
    _write(folder / "base" / "self.js")
    (folder / "work" / "link.mjs").symlink_to(folder / "outside" / "index.js")
    _package(folder / "node_modules" / "above", index_js="")
    return folder


@pytest.fixture(scope="module", params=_sandboxes())
def ask(root: Path, request: pytest.FixtureRequest) -> Iterator[Ask]:
    folders = places([root / "base", root / "second"], root / "work")
    resolvers = _resolvers(Places(folders.packages[:2], folders.working), request.param)
    yield lambda kind, base, name: _answer(resolvers, kind, base, name)
    resolvers.close()


def _base(root: Path, name: str) -> str:
    return (root / "base" / "node_modules").as_uri() + f"/{name}"


@pytest.mark.parametrize(
    ("specifier", "file", "kind"),
    [
        ("dual", "dual/i.mjs", "module"),
        ("sync", "sync/m.mjs", "module"),
        ("patterns/x/a", "patterns/lib/a.js", "commonjs"),
        ("old", "old/lib/main.js", "commonjs"),
        ("old/index", "old/index.js", "commonjs"),
        ("old/sub", "old/sub/index.js", "commonjs"),
        ("wrong-main", "wrong-main/index.js", "commonjs"),
        ("none", "none/index.js", "commonjs"),
        ("esm", "esm/index.js", "module"),
        ("esm/data.json", "esm/data.json", "json"),
        ("@scope/pack", "@scope/pack/index.js", "commonjs"),
        ("@scope/pack/sub/a.js", "@scope/pack/sub/a.js", "commonjs"),
        ("alias", "none/index.js", "commonjs"),
        ("linked", ".pnpm/linked@1/node_modules/linked/index.js", "commonjs"),
    ],
)
def test_packages(ask: Ask, root: Path, specifier: str, file: str, kind: str) -> None:
    found = ask("import", "", specifier)
    assert found == {"name": _base(root, file), "kind": kind, "local": False}
    assert ask("has", "", specifier) is True
    assert ask("import", "", found["name"]) == found  # as `import.meta.resolve` tells it


def test_packages_find_each_other(ask: Ask, root: Path) -> None:
    def find(base: str, specifier: str, kind: str = "require") -> Any:
        found = ask(kind, _base(root, base), specifier)
        return found.get("name", found.get("message")).removeprefix(_base(root, "").rstrip("/"))

    assert find("old/lib/main.js", "inner") == "/old/node_modules/inner/index.js"
    assert find("old/node_modules/inner/index.js", "dual") == "/dual/r.cjs"
    assert find("dual/i.mjs", "dual", "import") == "/dual/i.mjs"
    assert find("dual/r.cjs", "dual") == "/dual/r.cjs"
    assert find("old/index.js", "sync") == "/sync/m.mjs"
    assert find("@scope/pack/index.js", "#dep", "import") == "/dual/i.mjs"
    assert find("@scope/pack/index.js", "#dep") == "/dual/r.cjs"
    assert find("@scope/pack/index.js", "#p/a") == "/@scope/pack/sub/a.js"
    assert find("@scope/pack/index.js", "#fs", "import") == "node:fs"
    assert find("@scope/pack/index.js", "fs") == "node:fs"
    assert find("@scope/pack/index.js", "./sub/a") == "/@scope/pack/sub/a.js"
    assert find("@scope/pack/sub/a.js", "..") == "/@scope/pack/index.js"
    assert find("esm/index.js", "./data.json", "import") == "/esm/data.json"
    linked = ".pnpm/linked@1/node_modules/linked/index.js"
    assert find(linked, "of-linked") == "/.pnpm/linked@1/node_modules/of-linked/index.js"
    assert find("none/index.js", "more").endswith("/second/node_modules/more/index.js")
    for specifier in (
        "#none",
        "#out",
        "above",
        "self",
        "../../self.js",
        "./absent",
        "../escape/index.js",
    ):
        for kind in ("import", "require"):
            assert find("@scope/pack/index.js", specifier, kind) in (
                f"Module not found: {specifier}",
                f"Package path not exported: {specifier}",
            )
    assert find("esm/index.js", "./data", "import") == "Module not found: ./data"  # no guess
    assert find("none/index.js", (root / "work/a.mjs").as_uri(), "import").startswith("Module not")


def test_local_files(ask: Ask, root: Path) -> None:
    name = (root / "work/a.mjs").as_uri()
    found = ask("import", "", "./a.mjs")
    assert found == {"name": name, "kind": "module", "local": True}
    for specifier in ("./b.js", str(root / "work/a.mjs"), name, "../a.mjs"):
        assert ask("import", (root / "work/sub/b.js").as_uri(), specifier)["local"]
    assert ask("source", "", name) == {"source": "export {}"}
    spaced = ask("import", "", "./a%20b%25.mjs")
    assert ask("source", "", spaced["name"]) == {"source": ""}
    assert ask("import", name, "dual")["name"] == _base(root, "dual/i.mjs")


_NOT_FOUND = "Module not found"
_ADVICE = "Unsupported import specifier"


@pytest.mark.parametrize(
    ("specifier", "message"),
    [
        ("absent", _NOT_FOUND),
        ("above", _NOT_FOUND),  # no walk up to parents of the base
        ("self", _NOT_FOUND),
        ("escape", _NOT_FOUND),
        ("esm/out.js", _NOT_FOUND),
        ("dual/other", "Package path not exported: dual/other"),
        ("patterns/x/private/b", "Package path not exported"),
        ("patterns/gone", _NOT_FOUND),
        ("native", "Native addons are not allowed: native"),
        ("native/a.wasm", "WebAssembly modules are not supported."),
        ("broken", "Package with an invalid package.json: broken"),
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
        ("file://[a/b", _NOT_FOUND),
        ("./a.mjs?x=1", "Only .js and .mjs"),
        ("https://example.com/x.mjs", _ADVICE),
        ("data:text/javascript,1", _ADVICE),
        ("a\\b", _ADVICE),
        (" lodash", _ADVICE),
        ("", _ADVICE),
        ("@scope", _ADVICE),
        ("a%2fb", _ADVICE),
        ("a/Node_Modules/b", _ADVICE),
        ("dual/../../../outside/index.js", _ADVICE),
        (".hidden", _ADVICE),
        ("#dep", _NOT_FOUND),
        ("x" * 3000, _NOT_FOUND + ": " + "x" * 200),
        ("./" + "x" * 300 + ".mjs", _NOT_FOUND),
        ("./" + "a/" * 900 + "a.mjs", _NOT_FOUND),
        ("./\0.mjs", _NOT_FOUND),
        ("./\ud800.mjs", _NOT_FOUND),
    ],
)
def test_refusals(ask: Ask, specifier: str, message: str) -> None:
    refused = ask("import", "", specifier)
    assert message in refused["message"]
    assert (refused["code"] == "ERR_UNSUPPORTED_SPECIFIER") is refused["message"].startswith(
        _ADVICE
    )


def test_loaders_of_the_host_have_other_names(ask: Ask) -> None:
    assert ask("has", "", "@/skills/sum") is False
    assert ask("has", "", "absent") is False
    assert ask("has", "", "native") is True
    assert ask("has", "", "./absent.mjs") is True


def test_without_a_working_folder_there_are_no_files(root: Path) -> None:
    resolvers = _resolvers(Places((root / "base" / "node_modules",)))
    refused = _answer(resolvers, "import", "", "./a.mjs")
    assert "This engine has no working folder (its option working_dir)" in refused["message"]
    resolvers.close()


def test_only_what_can_be_found_can_be_read(ask: Ask, root: Path) -> None:
    for path in (root / "outside/index.js", Path("/etc/passwd"), root / "work/link.mjs"):
        for kind in ("source", "graph"):
            assert ask(kind, "", path.as_uri())["code"] == "ERR_MODULE_NOT_FOUND"
        assert ask("file", "", str(path)) == {"exists": False}
    large = (root / "work/large.mjs").as_uri()
    assert ask("source", "", large)["code"] == "ERR_MODULE_TOO_LARGE"
    for name in ("http://a/b", "file:///a?b", "file:///a#b", "a", "", "file://" + "/a" * 9000):
        assert ask("source", "", name)["code"] == "ERR_MODULE_NOT_FOUND"
    assert ask("unknown", "", "dual")["code"] == "ERR_MODULE_NOT_FOUND"


def test_modules_are_not_required_where_kernels_cannot(root: Path) -> None:
    folders = Places((root / "base" / "node_modules",))
    resolvers = _resolvers(folders, requires_modules=False)
    found = _answer(resolvers, "require", _base(root, "old/index.js"), "sync")
    assert found["name"] == _base(root, "sync/d.cjs")
    resolvers.close()


@pytest.mark.parametrize("sandbox", _sandboxes())
def test_a_folder_of_packages_may_be_a_link_with_another_name(tmp_path: Path, sandbox: str) -> None:
    _package(tmp_path / "store" / "a", index_js="")
    _package(tmp_path / "store" / "b", index_js="require('a')")
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "node_modules").symlink_to(tmp_path / "store")
    for working in (None, tmp_path / "base"):
        resolvers = _resolvers(places([tmp_path / "base"], working), sandbox)
        found = _answer(resolvers, "import", "", "b")
        assert found["name"].endswith("/b/index.js")
        assert _answer(resolvers, "require", found["name"], "a")["name"].endswith("/a/index.js")
        assert _answer(resolvers, "source", "", found["name"]) == {"source": "require('a')"}
        resolvers.close()


# -- static imports -----------------------------------------------------------------------------

_FILES = {
    "p/package.json": '{"type": "module", "main": "a.js"}',
    "p/a.js": "import {\n  b, // that\n} from './lib/b.js';export*from\"./c.mjs\"\n"
    "import './d.cjs'\nimport fs from 'node:path'; import('./late.js'); import './absent.js'; "
    "import '../../out.js'",
    "p/lib/b.js": "export { default as a } from '../a.js'",
    "p/c.mjs": "export const text = 'import x from \"./nothing.js\"'; // import './late.js'",
    "p/d.cjs": "require('./late.js')",
    "p/late.js": "export {}",
    "p/wrong.js": "import './late.js'; import",
    "p/__proto__.js": "import '__proto__'",
    "__proto__/index.js": "",
}


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "node_modules"
    for name, text in _FILES.items():
        _write(folder / name, text)
    _write(tmp_path / "out.js", "export {}")
    return folder


@pytest.fixture
def resolvers(packages: Path) -> Iterator[Resolvers]:
    made = _resolvers(Places((packages,)))
    yield made
    made.close()


def test_what_an_entry_imports_comes_with_it(resolvers: Resolvers, packages: Path) -> None:
    base = (packages / "p").as_uri()
    modules = _answer(resolvers, "graph", "", f"{base}/a.js")["modules"]
    assert sorted(modules) == [f"{base}/a.js", f"{base}/c.mjs", f"{base}/lib/b.js"]
    source, imports = modules[f"{base}/a.js"]
    assert source == _FILES["p/a.js"]
    assert imports == {
        "./lib/b.js": [f"{base}/lib/b.js", "module"],
        "./c.mjs": [f"{base}/c.mjs", "module"],
        "./d.cjs": [f"{base}/d.cjs", "commonjs"],
    }
    assert modules[f"{base}/lib/b.js"][1] == {"../a.js": [f"{base}/a.js", "module"]}
    wrong = _answer(resolvers, "graph", "", f"{base}/wrong.js")["modules"]
    assert wrong == {
        f"{base}/wrong.js": [_FILES["p/wrong.js"], {}]
    }  # the kernel says what is wrong
    named = _answer(resolvers, "graph", "", f"{base}/__proto__.js")["modules"]
    assert list(named[f"{base}/__proto__.js"][1]) == ["__proto__"]


def test_files_are_read_again_when_they_have_changed(resolvers: Resolvers, packages: Path) -> None:
    def modules() -> Any:
        return _answer(resolvers, "graph", "", (packages / "p/a.js").as_uri())["modules"]

    changed = packages / "p/lib/b.js"
    assert changed.as_uri() in modules()
    changed.write_text("export const other = 1", "utf-8")
    assert modules()[changed.as_uri()] == ["export const other = 1", {}]
    changed.unlink()
    assert changed.as_uri() not in modules()


def test_a_graph_is_bounded(resolvers: Resolvers, packages: Path) -> None:
    names = [f"m{number}.js" for number in range(2005)]
    for name in names:
        (packages / "p" / name).write_text("", "utf-8")
    (packages / "p/a.js").write_text("".join(f"import './{one}';" for one in names), "utf-8")
    modules = _answer(resolvers, "graph", "", (packages / "p/a.js").as_uri())["modules"]
    assert len(modules) == 2000


def test_packages_that_have_changed_are_found_anew(resolvers: Resolvers, packages: Path) -> None:
    def found(specifier: str) -> Any:
        answer = _answer(resolvers, "import", "", specifier)
        return answer.get("name", "").removeprefix(packages.as_uri()), answer.get("kind")

    assert found("p") == ("/p/a.js", "module")
    assert found("new") == ("", None)
    (packages / "p/package.json").write_text('{"main": "late.js"}', "utf-8")
    assert found("p") == ("/p/late.js", "commonjs")
    (packages / "p/package.json").unlink()
    assert found("p") == ("", None)
    _package(packages / "new", {"type": "module"}, index_js="")
    assert found("new") == ("/new/index.js", "module")
    _package(packages / "__proto__", {"type": "module"})
    assert found("__proto__") == ("/__proto__/index.js", "module")


# -- processes ----------------------------------------------------------------------------------


def _children() -> set[int]:
    return {one.pid for one in psutil.Process().children(recursive=True)}


def test_there_is_no_process_before_a_question_and_none_after_the_end(packages: Path) -> None:
    before = _children()
    made = _resolvers(Places((packages,)))
    assert _children() <= before
    for _ in range(3):
        assert _answer(made, "has", "", "p") is True
    assert len(_children() - before) == 1
    made.close()
    assert _children() <= before


def test_one_that_has_ended_is_replaced(resolvers: Resolvers) -> None:
    before = _children()
    assert _answer(resolvers, "has", "", "p") is True
    for pid in _children() - before:
        os.kill(pid, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], 0.1)
    assert _answer(resolvers, "has", "", "p") is True


def test_two_answer_at_once_and_others_wait(resolvers: Resolvers) -> None:
    asking = [resolvers.ask(("has", "", "p")) for _ in range(3)]
    waits = [next(one) for one in asking]
    assert [isinstance(one, KernelWait) for one in waits] == [True, True, False]
    asking[0].close()
    assert isinstance(next(asking[2]), KernelWait)
    for one in asking:
        one.close()
    assert _answer(resolvers, "has", "", "p") is True


def test_a_process_that_cannot_be_started_is_an_error_of_the_import(packages: Path) -> None:
    made = Resolvers(Places((packages,)))
    made.start_like(kernel_config("/nowhere/node"), requires_modules=True)
    refused = _answer(made, "import", "", "p")
    assert refused["code"] == "ERR_MODULE_NOT_FOUND"
    assert refused["message"].startswith(
        "no modules can be found: no kernel process can be started"
    )


#: What the program that finds modules cannot do, whatever it is asked.
_ATTEMPTS = {
    "read": "require('node:fs').readFileSync('/etc/passwd')",
    "list": "require('node:fs').readdirSync(require('node:path').dirname(roots[0]))",
    "write": "require('node:fs').writeFileSync(roots[0] + '/made', '')",
    "spawn": "require('node:child_process').spawnSync('/bin/true').status.toString()",
    "thread": "new (require('node:worker_threads').Worker)('1', {eval: true})",
    "code from text": "Function('return 1')()",
}


@pytest.mark.parametrize("sandbox", _sandboxes())
def test_it_reads_the_folders_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, packages: Path, sandbox: str
) -> None:
    original, mark = programs.program, "const answers = {"
    said = {
        name: f"() => {{ try {{ {body}; return 'reached' }} catch {{ return 'refused' }} }}"
        for name, body in _ATTEMPTS.items()
    }
    attempts = ",".join(f"{json.dumps(name)}: {body}" for name, body in said.items())

    def program(name: str) -> str:
        text = original(name)
        assert name != "resolver.js" or mark in text
        return text.replace(mark, f"{mark} {attempts},")

    monkeypatch.setattr(programs, "program", program)
    made = _resolvers(Places((packages,)), sandbox)
    assert {name: _answer(made, name, "", "") for name in _ATTEMPTS} == dict.fromkeys(
        _ATTEMPTS, "refused"
    )
    made.close()
