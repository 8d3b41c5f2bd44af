from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import interpstack
from interpstack import InterpstackError, PluginLoadError, UnknownEngine, UnknownPlugin
from interpstack.contracts import errors
from interpstack.contracts.errors import install_command


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^([│├└─ ]*)(\w+)", errors.__doc__.partition("```text\n")[2], re.MULTILINE)
    path: list[str] = []
    for indent, name in drawn:
        if name not in errors.__all__:
            continue
        depth = len(indent) // 4
        parent = path[depth - 1] if depth else "Exception"
        assert parent in [base.__name__ for base in getattr(errors, name).__bases__], name
        path[depth:] = [name]
    assert {name for _, name in drawn} >= set(errors.__all__)


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_public_and_one_of_ours(name: str) -> None:
    error = getattr(interpstack, name)
    assert error is getattr(errors, name)
    assert issubclass(error, InterpstackError)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed distribution of the project: its plugins and extras."""
    info = tmp_path / "interpstack-9.dist-info"
    info.mkdir()
    extras = [f"Provides-Extra: {name}" for name in ("all", "langchain", "v8-engine")]
    about = ["Metadata-Version: 2.1", "Name: interpstack", "Version: 9", *extras]
    (info / "METADATA").write_text("\n".join(about))
    plugins = [f"{name} = interpstack_{name}" for name in ("langchain", "quickjs", "v8")]
    points = ["[interpstack]", *plugins, "[interpstack.commands]", "run = x:y"]
    (info / "entry_points.txt").write_text("\n".join(points))
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("v8", "pip install 'interpstack[v8-engine]'"),
        ("quickjs", "pip install --force-reinstall interpstack"),
        ("langchain", "pip install 'interpstack[langchain]'"),
        ("all", ""),
        ("run", ""),
        ("my_own", ""),
    ],
)
def test_install_command(name: str, command: str) -> None:
    assert install_command(name) == command


@pytest.mark.parametrize("name", ["", " ", "a b", "x; y", "-r", "größe"])
def test_what_no_package_can_be_called_gets_no_install_advice(name: str) -> None:
    for kind in (UnknownEngine, UnknownPlugin):
        message = str(kind(name, ["quickjs"]))
        assert message.endswith(f"{name!r}; known: quickjs")


def test_a_plugin_that_fails_otherwise_gets_no_install_advice() -> None:
    assert "pip" not in str(PluginLoadError("a", SyntaxError("bad")))


def test_nothing_is_advised_where_the_project_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.path", [])
    assert install_command("v8") == ""


@pytest.mark.usefixtures("installed")
def test_only_the_projects_own_packages_are_named_for_installation() -> None:
    missing = ModuleNotFoundError("No module named 'x'", name="x")
    assert str(PluginLoadError("a", missing)).endswith("No module named 'x'; install what it needs")
    assert "with: pip install 'interpstack[v8-engine]'" in str(PluginLoadError("v8", missing))
    needed = str(UnknownEngine("v8", ["quickjs"], missing=["v8"]))
    assert "; not installed: v8 (pip install 'interpstack[v8-engine]')" in needed
    advised = ModuleNotFoundError("run: pip install 'interpstack[v8-engine]'", name="x")
    assert str(PluginLoadError("v8", advised)).count("pip install") == 1
    for name in ("else", "quikjs"):
        assert "pip" not in str(UnknownEngine(name, ["quickjs"]))


@pytest.mark.parametrize(
    "error",
    [
        UnknownEngine("quikjs", ["quickjs"]),
        UnknownPlugin("x", ["y"]),
        PluginLoadError("a", ValueError("bad")),
        errors.BridgeNameClash("a", "a.b", ("one", "two")),
        errors.UnsupportedValue("no form", "$.a[0]"),
        errors.SessionClosed("closed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_the_same_in_another_process(error: InterpstackError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.args) == (type(error), str(error), error.args)
    assert {n: str(v) for n, v in vars(copy).items()} == {n: str(v) for n, v in vars(error).items()}
