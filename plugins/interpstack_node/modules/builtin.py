"""The policy for Node's built-in modules: which ones code may import, and in which form."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

__all__ = ["POLICY", "PREFIXED", "Access", "forms"]


class Access(Enum):
    """The form in which code gets a built-in module."""

    REAL = "real"  #: Node's own
    PART = "part"  #: some of its exports; those that show the machine are missing
    MADE = "made"  #: a stand-in in the guest's own realm, for cells and packages
    PACKAGES = "packages"  #: a stand-in that packages alone get; cells are refused
    FILES = "files"  #: Node's own, with an option that permits files; else as `CLOSED`
    NETWORK = "network"  #: Node's own, with the option `network`; else as `CLOSED`
    CLOSED = "closed"  #: refused; a package gets exports that throw when it calls them


#: Modules by name. A module that is not listed is not there.
POLICY: Final[Mapping[str, Access]] = {
    # computing: these open nothing
    **dict.fromkeys(
        (
            "assert",
            "assert/strict",
            "buffer",
            "constants",
            "crypto",
            "diagnostics_channel",
            "events",
            "path",
            "path/posix",
            "path/win32",
            "perf_hooks",
            "punycode",
            "querystring",
            "stream",
            "stream/consumers",
            "stream/promises",
            "stream/web",
            "string_decoder",
            "sys",
            "url",
            "util",
            "util/types",
            "zlib",
        ),
        Access.REAL,
    ),
    # files: without an option there are none, and a descriptor is a way to the process's own ones
    "fs": Access.FILES,
    "fs/promises": Access.FILES,
    # without the hooks into Node's own tasks
    "async_hooks": Access.PART,
    # with made-up values in place of the machine's name, addresses and users
    "os": Access.MADE,
    # on the guest's own clock and console
    "console": Access.MADE,
    "timers": Access.MADE,
    "timers/promises": Access.MADE,
    "tty": Access.MADE,
    # what packages look at while they load
    "module": Access.PACKAGES,
    "process": Access.PACKAGES,
    "worker_threads": Access.PACKAGES,
    # connections
    **dict.fromkeys(
        ("dgram", "dns", "dns/promises", "http", "http2", "https", "net", "tls"), Access.NETWORK
    ),
    # programs, threads, other contexts, the debugger, the engine itself, the terminal, databases
    **dict.fromkeys(
        (
            "child_process",
            "cluster",
            "domain",
            "inspector",
            "inspector/promises",
            "readline",
            "readline/promises",
            "repl",
            "sea",
            "sqlite",
            "test",
            "test/reporters",
            "trace_events",
            "v8",
            "vm",
            "wasi",
        ),
        Access.CLOSED,
    ),
}
#: Names that mean a built-in module only with the prefix `node:`.
PREFIXED: Final = dict.fromkeys(("sea", "sqlite", "test", "test/reporters"), True)


def forms(*, files: bool, network: bool) -> Mapping[str, Mapping[str, str | None]]:
    """The forms of the built-in modules by name, for a `cell` and for a `package`; `None` refuses.

    A file of the working folder gets what a cell gets.

    Args:
        files: Whether the engine's options permit any files.
        network: The engine's option.
    """
    return {
        importer: {
            name: _form(access, for_package=importer == "package", files=files, network=network)
            for name, access in POLICY.items()
        }
        for importer in ("cell", "package")
    }


def _form(access: Access, *, for_package: bool, files: bool, network: bool) -> str | None:
    if (access is Access.NETWORK and network) or (access is Access.FILES and files):
        access = Access.REAL
    elif access is Access.PACKAGES and for_package:
        access = Access.MADE
    elif access in (Access.FILES, Access.NETWORK, Access.PACKAGES):
        access = Access.CLOSED
    if access is Access.CLOSED and not for_package:
        return None
    return str(access.value)
