"""Checks of a machine for `interpstack doctor`: what parts a guest of Node from the host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interpstack import ConfigurationError
from interpstack_javascript.node_runtime import NETWORK_PERMISSION, NodeRuntime, find_node
from interpstack_node.kernels.confine import CONFINES
from interpstack_node.kernels.starting.sandbox import Sandbox, sandbox_faults

__all__ = ["checks"]

_OK, _WARN = "ok", "warn"
_NAMESPACES: Final = (
    "install bubblewrap, and permit user namespaces; until then, run only code you trust in node"
)

Check = tuple[str, str, str, str]


def checks() -> Iterator[Check]:
    """Each check as its name, `ok` or `warn`, the result, and the next step; none without Node."""
    try:
        runtime = find_node()
    except ConfigurationError:
        return  # the check of the engine says so
    shown = ".".join(map(str, runtime.version))
    yield "node program", _OK, f"Node {shown} at {runtime.path}, from {runtime.origin}", ""
    yield _permissions(runtime)
    yield _sandbox(sandbox_faults(runtime.path))
    yield _limits(confines=CONFINES)


def _permissions(runtime: NodeRuntime) -> Check:
    """The permission model of Node itself."""
    refused = "files, programs, threads and addons are refused by Node's permission model"
    if runtime.version >= NETWORK_PERMISSION:
        return "node permissions", _OK, f"{refused}, and so is the network", ""
    least = NETWORK_PERMISSION[0]
    found = f"{refused}; only Node {least} or later refuses the network, too"
    return "node permissions", _OK, f"{found}, so here the sandbox and the limits do", ""


def _sandbox(faults: dict[Sandbox, str]) -> Check:
    """The strongest of the sandboxes, with the reasons why stronger ones do not work."""
    name = "node sandbox"
    without = "; ".join(f"{one.value}: {why}" for one, why in faults.items() if why)
    works = next((sandbox for sandbox, why in faults.items() if not why), Sandbox.NONE)
    if works is Sandbox.BUBBLEWRAP:
        found = "bubblewrap: processes have files, network, users and messages of their own"
        return name, _OK, found, ""
    if works is Sandbox.UNSHARE:
        found = f"unshare: network and users of their own, but the host's files ({without})"
        return name, _WARN, found, "install bubblewrap to hide the host's files, too"
    return name, _WARN, f"none beside Node's permission model ({without})", _NAMESPACES


def _limits(*, confines: bool) -> Check:
    """The limits that the system puts on each process."""
    if confines:
        return "node limits", _OK, "the system bounds memory, files, descriptors and CPU time", ""
    found = "this system cannot bound another process, so only Node bounds its heap"
    return "node limits", _WARN, found, "run only code you trust in node, or use Linux"
