"""Every exception that interpstack raises into *host* code.

An error inside a guest never raises one of these exceptions, but ends as the `error` of an
`Outcome`. The tree:

```text
InterpstackError
├── ConfigurationError            an option, limit or name given by the host is wrong
│   ├── UnknownEngine
│   ├── UnknownPlugin
│   ├── PluginLoadError           known, but its code or a package it needs cannot be imported
│   ├── EngineUnavailable         a program that the engine runs is missing, or too old
│   └── SourceTooLarge            code of the guest is above `Limits.source_bytes`
├── BridgeError                   a bridge cannot be offered
│   └── BridgeNameClash
├── UnsupportedValue              a host value has no form in the guest (also a `TypeError`)
├── EngineFailure                 an engine broke; the guest's state may be lost
├── ImageError                    an image cannot be opened by this engine
└── SessionClosed                 the session was closed by its owner
```
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Iterable
from typing import Any

__all__ = [
    "BridgeError",
    "BridgeNameClash",
    "ConfigurationError",
    "EngineFailure",
    "EngineUnavailable",
    "ImageError",
    "InterpstackError",
    "PluginLoadError",
    "SessionClosed",
    "SourceTooLarge",
    "UnknownEngine",
    "UnknownPlugin",
    "UnsupportedValue",
]


class InterpstackError(Exception):
    """Base class of everything interpstack raises."""

    def __reduce__(self) -> tuple[Any, ...]:  # by its message, whatever its class is made of
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ConfigurationError(InterpstackError, ValueError):
    """Raised for a wrong option of the host; the message names the accepted values."""


class UnknownEngine(ConfigurationError):
    """No installed plugin registers an engine of this name.

    Attributes:
        name: The requested name.
        known: Names that are registered, sorted.
    """

    def __init__(self, name: str, known: Iterable[str], missing: Iterable[str] = ()) -> None:
        self.name, self.known = name, tuple(sorted(known))
        commands = [f"{one} ({found})" for one in missing if (found := install_command(one))]
        super().__init__(_unknown("engine", name, self.known, commands))


class UnknownPlugin(ConfigurationError):
    """No entry point in the group `interpstack` has this name.

    Attributes:
        name: The requested name.
        known: Names that are installed, sorted.
    """

    def __init__(self, name: str, known: Iterable[str]) -> None:
        self.name, self.known = name, tuple(sorted(known))
        super().__init__(_unknown("plugin", name, self.known, []))


class PluginLoadError(ConfigurationError):
    """A plugin is installed but cannot be imported.

    Attributes:
        name: The plugin's entry-point name.
    """

    def __init__(self, name: str, cause: BaseException) -> None:
        self.name = name
        message = f"plugin {name!r} is installed but cannot be loaded: {cause}"
        missing = getattr(cause, "name", None)
        if isinstance(cause, ModuleNotFoundError) and missing:
            command = install_command(name)
            if not command or command not in message:
                message += "; install what it needs" + (f" with: {command}" if command else "")
        super().__init__(message)


class EngineUnavailable(ConfigurationError):
    """Raised when a session is opened on an engine whose program this machine does not have."""


class SourceTooLarge(ConfigurationError):
    """Raised for a cell above `Limits.source_bytes`; its writer is at fault, so adapters tell them.

    Attributes:
        size: Bytes of the source.
        limit: Bytes that are accepted.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"the code has {size} bytes; at most {limit} are accepted "
            "(Limits.source_bytes); pass data through a tool or a bridge instead"
        )
        self.size = size
        self.limit = limit


class BridgeError(InterpstackError, ValueError):
    """A bridge cannot be offered to a guest."""


class BridgeNameClash(BridgeError):
    """Two owners offer bridges under names that cannot stand side by side.

    Attributes:
        name: The name offered second.
        other: The name offered first.
        owners: The owners of `other` and of `name`, in this order.
    """

    def __init__(self, name: str, other: str, owners: tuple[str, str]) -> None:
        self.name = name
        self.other = other
        self.owners = owners
        what = "is already offered" if name == other else f"clashes with {other!r}, offered"
        super().__init__(
            f"bridge {name!r} (from {owners[1]}) {what} by {owners[0]}; rename one, "
            "or register the second with clobber=True to replace the first"
        )


class UnsupportedValue(InterpstackError, TypeError):
    """A host value has no form in the guest.

    Attributes:
        path: The path to the value, as in `$.rows[3].when`.
        reason: Why the value has no form in the guest, without the path.
    """

    def __init__(self, message: str, path: str = "$") -> None:
        self.path, self.reason = path, message
        super().__init__(f"{message} (at {path})")


class EngineFailure(InterpstackError, RuntimeError):
    """An engine broke while it ran guest code or opened a realm."""


class ImageError(InterpstackError, ValueError):
    """An image is damaged, or was made by another engine build."""


class SessionClosed(InterpstackError, RuntimeError):
    """The session was closed; open it again with `stack.session(key)`."""


def install_command(name: str) -> str:
    """The command that installs the plugin `name`; empty unless it is one of this project.

    The installed distribution names its plugins and extras. Package names of third-party plugins
    are not guessed, because anyone may own such a name.
    """
    from importlib.metadata import distributions  # with its parsers, it takes long to import

    own = next(iter(distributions(name="interpstack")), None)
    if own is None or name not in own.entry_points.select(group="interpstack").names:
        return ""
    extras = own.metadata.get_all("Provides-Extra") or ()
    plain = name.replace("_", "-")
    wanted = (plain, f"{plain}-engine")  # pip takes a name like `v8` for a version
    extra = next((one for one in wanted if one in extras), None)
    what = f"'interpstack[{extra}]'" if extra else "--force-reinstall interpstack"
    return f"pip install {what}"


def _unknown(kind: str, name: str, known: tuple[str, ...], commands: list[str]) -> str:
    message = f"unknown {kind} {name!r}; known: {', '.join(known) or 'none are installed'}"
    message += f"; not installed: {', '.join(commands)}" if commands else ""
    from interpstack.similar_names import did_you_mean  # loaded for an error only

    message += did_you_mean(name, known)
    command = install_command(name) if kind == "plugin" else ""  # an engine's is there
    sentence = message if message.endswith("?") else f"{message}."
    if command:
        return f"{sentence} Install it with: {command}"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):  # no package could be called so
        return message
    return f"{sentence} If a package provides it, install that package first"
