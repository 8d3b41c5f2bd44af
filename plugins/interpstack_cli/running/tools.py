"""The values of `--tools module:attr`: functions, bridges, host tools, or a whole module."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from types import ModuleType
from typing import Any

import attrs

from interpstack import Bridge, BridgeError, ConfigurationError, GuestLanguage, HostTool
from interpstack.checks import shown
from interpstack_cli.running.references import attribute_of, import_named, nearest

__all__ = ["Tools", "load_tools"]

_ACCEPTED = "a function, a Bridge, a HostTool, a list of those, or a module"
#: What to do about a function of a whole module that code cannot call.
_OF_A_MODULE = (
    "; name those that code needs, as in --tools {module}:NAME, or begin the name of this one "
    "with '_'"
)


@attrs.frozen
class Tools:
    """The functions that code may call.

    Attributes:
        bridges: Functions, as `tools.<name>`, and bridges under their own names.
        host_tools: Offered by the plugin `ptc`.
    """

    bridges: tuple[Bridge, ...] = ()
    host_tools: tuple[HostTool, ...] = ()


def load_tools(references: Iterable[str], language: GuestLanguage) -> Tools:
    """Import tools, also from modules in the current directory.

    Args:
        references: The values of `--tools`.
        language: The language of the code, which spells the names of functions.

    Raises:
        ConfigurationError: A reference cannot be imported, or is nothing to call.
        BridgeError: A function cannot be called with named fields.
    """
    found = {
        id(item): (item, reference, place)
        for reference in references
        for place, item in _named(reference)
    }
    items = [_item(*one, language) for one in found.values()]
    return Tools(
        tuple(item for item in items if isinstance(item, Bridge)),
        tuple(item for item in items if isinstance(item, HostTool)),
    )


def _named(reference: str) -> Iterable[tuple[str, Any]]:
    """The objects that a reference names, each with its place; several may name the same one."""
    module_name, _, attribute = reference.partition(":")
    given = f"--tools {reference}"
    module = import_named(given, module_name)
    return _items(attribute_of(given, module, attribute, _offer(module, attribute)), reference)


def _items(target: Any, reference: str) -> Iterable[tuple[str, Any]]:
    if isinstance(target, ModuleType):
        found = _public(target)
        if not found:
            raise ConfigurationError(f"--tools {reference}: {_offer(target)}")
        return [(f"{target.__name__}:{name}", item) for name, item in found.items()]
    if not isinstance(target, (list, tuple)):
        return [(reference, target)]
    return [(f"{reference}[{number}]", item) for number, item in enumerate(target)]


def _item(item: Any, reference: str, place: str, language: GuestLanguage) -> Bridge | HostTool:
    module, _, attribute = reference.partition(":")
    advice = "" if attribute else _OF_A_MODULE.format(module=module)
    if isinstance(item, HostTool):
        return item
    if isinstance(item, Bridge):
        return item if item.on_loop else _off_loop(item)
    if not callable(item):
        raise ConfigurationError(
            f"--tools {reference}: cannot call {shown(item)}; accepted are {_ACCEPTED}"
        )
    name = getattr(item, "__name__", "")
    if not name.isidentifier():
        raise ConfigurationError(
            f"--tools {reference}: {place} has no name of its own; decorate a function with "
            f"@bridge('tools.NAME'){advice}"
        )
    owner = f"{getattr(item, '__module__', None) or 'builtins'}.{item.__qualname__}"
    try:
        plain = Bridge(name=f"tools.{language.identifier(name)}", handler=item, owner=owner)
    except BridgeError as error:
        raise BridgeError(f"--tools {reference}: {error}{advice}") from error
    return plain if plain.on_loop else _off_loop(plain)


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


def _offer(module: ModuleType, wanted: str = "") -> str:
    names = nearest(wanted, _public(module))
    return f"it offers: {names}" if names else f"module {module.__name__!r} has no public function"


def _off_loop(blocking: Bridge) -> Bridge:
    return attrs.evolve(blocking, handler=_detached(blocking.handler), on_loop=True)


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
