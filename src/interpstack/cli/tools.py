"""Loads what `--tools module:attr` names: functions, bridges, host tools, or a whole module."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future
from importlib import import_module
from types import ModuleType
from typing import Any

import attrs

from interpstack.bridges import Bridge
from interpstack.cli.names import guest_name
from interpstack.errors import BridgeError, ConfigurationError
from interpstack.turns import HostTool

__all__ = ["Tools", "load_tools"]

_ACCEPTED = "a function, a Bridge, a HostTool, a list of those, or a module"


@attrs.frozen
class Tools:
    """What the code may call.

    Attributes:
        bridges: Functions, as `tools.<name>`, and bridges under their own names.
        host_tools: Offered by the plugin `ptc`.
    """

    bridges: tuple[Bridge, ...] = ()
    host_tools: tuple[HostTool, ...] = ()


def load_tools(references: Iterable[str], language: str = "javascript") -> Tools:
    """Import tools; modules of the current directory are found too.

    Args:
        references: As given with `--tools`.
        language: Of the code; functions are named as it is usual there.

    Raises:
        ConfigurationError: A reference cannot be imported, or is nothing to call.
        BridgeError: A function cannot be called with named fields.
    """
    items = [item for reference in references for item in _load(reference, language)]
    return Tools(
        tuple(item for item in items if isinstance(item, Bridge)),
        tuple(item for item in items if isinstance(item, HostTool)),
    )


def _load(reference: str, language: str) -> Iterator[Bridge | HostTool]:
    module_name, _, attribute = reference.partition(":")
    _check_name(reference, module_name)
    module = _import(reference, module_name)
    target: Any = module
    for part in attribute.split(".") if attribute else ():
        if not hasattr(target, part):
            raise ConfigurationError(
                f"--tools {reference}: module {module_name!r} has no {attribute!r}; "
                f"{_offer(module)}"
            )
        target = getattr(target, part)
    for item in _items(target, reference):
        yield _item(item, reference, language)


def _check_name(reference: str, module_name: str) -> None:
    if module_name.endswith(".py") or "/" in module_name or "\\" in module_name:
        stem = module_name.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
        raise ConfigurationError(
            f"--tools {reference}: takes a module name, not a path; change to the folder of the "
            f"file and use --tools {stem}:ATTR"
        )
    if not all(part.isidentifier() for part in module_name.split(".")):
        raise ConfigurationError(
            f"--tools {reference!r}: takes MODULE or MODULE:ATTR, as in --tools mytools:read_file"
        )


def _import(reference: str, module_name: str) -> ModuleType:
    folder = os.getcwd()  # noqa: PTH109
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if module_name == missing or module_name.startswith(missing + "."):
            raise ConfigurationError(
                f"--tools {reference}: there is no module {missing!r}, neither in the current "
                "directory nor among the installed packages; install it, or change the directory"
            ) from error
        raise _not_importable(reference, module_name, error) from error
    except (Exception, SystemExit) as error:
        raise _not_importable(reference, module_name, error) from error


def _not_importable(reference: str, module_name: str, error: BaseException) -> ConfigurationError:
    cause = f"{type(error).__name__}: {error}".rstrip(": ")
    return ConfigurationError(
        f"--tools {reference}: module {module_name!r} cannot be imported: {cause}; "
        f"'python -c \"import {module_name}\"' shows where"
    )


def _items(target: Any, reference: str) -> Iterable[Any]:
    if isinstance(target, ModuleType):
        found = _public(target)
        if not found:
            raise ConfigurationError(f"--tools {reference}: {_offer(target)}")
        return found.values()
    return target if isinstance(target, (list, tuple)) else [target]


def _item(item: Any, reference: str, language: str) -> Bridge | HostTool:
    if isinstance(item, HostTool):
        return item
    if isinstance(item, Bridge):
        return item if item.is_async else attrs.evolve(item, handler=_detached(item.handler))
    if not callable(item):
        raise ConfigurationError(
            f"--tools {reference}: cannot call {_shown(item)}; accepted are {_ACCEPTED}"
        )
    name = getattr(item, "__name__", "")
    if not name.isidentifier():
        raise ConfigurationError(
            f"--tools {reference}: {_shown(item)} has no name of its own; decorate a function "
            "with @bridge('tools.NAME')"
        )
    owner = f"{getattr(item, '__module__', None) or 'builtins'}.{item.__qualname__}"
    try:
        plain = Bridge(name=f"tools.{guest_name(name, language)}", handler=item, owner=owner)
    except BridgeError as error:
        raise BridgeError(f"--tools {reference}: {error}") from error
    return plain if plain.is_async else attrs.evolve(plain, handler=_detached(item))


def _public(module: ModuleType) -> dict[str, Any]:
    """Functions defined in the module, and its bridges and host tools, by name."""
    return {
        name: item
        for name, item in vars(module).items()
        if not name.startswith("_")
        and (
            isinstance(item, (Bridge, HostTool))
            or (
                callable(item)
                and not isinstance(item, type)
                and getattr(item, "__module__", None) == module.__name__
                and hasattr(item, "__name__")
            )
        )
    }


def _offer(module: ModuleType) -> str:
    names = ", ".join(_public(module))
    return f"it offers: {names}" if names else f"module {module.__name__!r} has no public function"


def _shown(item: Any) -> str:
    text = repr(item)
    return text if len(text) <= 60 else f"a {type(item).__name__}"


def _detached(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """The blocking function as an async one, run in a thread that never keeps the process alive.

    After a time limit or Ctrl-C the command ends, even if the function does not.
    """

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                future.set_result(context.run(function, *args, **kwargs))
            except StopIteration:  # a future cannot carry it
                future.set_exception(RuntimeError("the function raised StopIteration"))
            except BaseException as error:  # noqa: BLE001 - whoever awaits gets it
                future.set_exception(error)

        threading.Thread(target=work, name="interpstack-tool", daemon=True).start()
        value = await asyncio.wrap_future(future)
        return await value if isinstance(value, Awaitable) else value

    return call
