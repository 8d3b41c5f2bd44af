"""Finds plugins, and calls the hooks of one stack; there is no global manager."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from inspect import iscoroutinefunction
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from interpstack.cells.wrappers import Each
from interpstack.checks import Value, expect, shown
from interpstack.contracts import hookspecs
from interpstack.contracts.engine import Engine
from interpstack.contracts.errors import (
    ConfigurationError,
    PluginLoadError,
    UnknownEngine,
    UnknownPlugin,
)
from interpstack.contracts.languages import GuestLanguage

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
else:
    EntryPoint = Any  # that module, with its parsers, takes long to import

__all__ = ["GROUP", "PluginInfo", "PluginManager", "find_engine", "installed"]

#: The entry-point group in which plugins register themselves.
GROUP = "interpstack"
#: The entry-point group of attributes that they add to the package `interpstack`.
NAMES = "interpstack.names"
#: The version of a distribution, in a file that takes milliseconds to read.
_version = lru_cache(attrgetter("version"))


@attrs.frozen(eq=False, repr=False)
class PluginInfo(Value):
    """One plugin of a stack.

    Attributes:
        name: Its entry-point name, or the name of the object that was passed in.
        version: Version of its distribution; empty for objects passed in.
        hooks: Names of the hooks it implements.
        engine: Name of the engine it registers, if any.
    """

    name: str
    version: str
    hooks: tuple[str, ...]
    engine: str | None = None


def installed() -> Mapping[str, EntryPoint]:
    """Entry points of all installed plugins, by name, sorted; none is imported."""
    return _installed(GROUP)[0]


def _installed(group: str) -> tuple[Mapping[str, EntryPoint], Mapping[str, str]]:
    from importlib.metadata import distributions

    return _find(tuple(sys.path), distributions, group)


@lru_cache(maxsize=4)  # all is searched again only when the import path has changed
def _find(
    path: tuple[str, ...], look_up: Callable[..., Any], group: str
) -> tuple[Mapping[str, EntryPoint], Mapping[str, str]]:
    """Entry points by name, with errors of broken ones, which affect only their users."""
    found: dict[str, EntryPoint] = {}
    clashes: dict[str, str] = {}
    mark = f"[{group}]"  # `entry_points` parses those of all groups, which takes twice as long
    owners = [one for one in look_up() if mark in (one.read_text("entry_points.txt") or "")]
    if len(owners) > 1:  # the first on the path hides others of its name, which takes long to read
        owners = [*{one.name: one for one in reversed(owners)}.values()][::-1]
    points = chain.from_iterable(one.entry_points.select(group=group) for one in owners)
    what = "a plugin" if group == GROUP else "an attribute"
    for entry in sorted(points, key=lambda e: e.name):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            clashes[entry.name] = (
                f"two distributions install {what} named {entry.name!r}: {other.value} and "
                f"{entry.value}; uninstall one"
            )
    return MappingProxyType(found), MappingProxyType(clashes)


def load(name: str, group: str = GROUP) -> Any:
    """Import an installed plugin, or an object that one has in another `group`.

    Raises:
        UnknownPlugin: No entry point has this name.
        PluginLoadError: It cannot be imported.
        ConfigurationError: Two distributions install a plugin of this name.
    """
    entries, clashes = _installed(group)
    if name not in entries:
        raise UnknownPlugin(name, entries)
    if name in clashes:
        raise ConfigurationError(clashes[name])
    try:
        return entries[name].load()
    except Exception as error:
        package = entries[name].module.partition(".")[0]
        plugin = name if group == GROUP else package.removeprefix("interpstack_")
        raise PluginLoadError(plugin, error) from error


def offered(name: str) -> Any:
    """An attribute that a plugin adds to the package `interpstack`; private ones are not sought.

    Raises:
        AttributeError: No plugin adds it.
    """
    if name.startswith("_") or name not in _installed(NAMES)[0]:
        raise AttributeError(f"module 'interpstack' has no attribute {name!r}")
    return load(name, NAMES)


class PluginManager:
    """The plugins of one stack."""

    def __init__(self, plugins: Iterable[Any] = ()) -> None:
        self._manager = pluggy.PluginManager("interpstack")
        self._manager.add_hookspecs(hookspecs)
        self._entries: dict[str, EntryPoint] = {}
        self._specs: list[Any] = []
        if os.environ.get("INTERPSTACK_TRACE") == "1":
            begun: dict[int, float] = {}
            self._manager.add_hookcall_monitoring(
                lambda name, impls, arguments: begun.update({id(arguments): time.perf_counter()}),
                partial(_print_call, begun),
            )
        self.add(*reversed(list(plugins)))  # pluggy calls the plugin registered last first

    @property
    def hook(self) -> Any:
        """Calls hooks; plugins answer in the order in which the stack lists them."""
        return self._manager.hook

    def each(self, hook: str) -> Each:
        """For each plugin that implements a hook, its name and a caller of the hook."""
        impls = reversed(getattr(self.hook, hook).get_hookimpls())
        plugins = {impl.plugin_name: impl.plugin for impl in impls}
        every = self._manager.get_plugins()
        return [
            (name, self._manager.subset_hook_caller(hook, every - {plugin}))
            for name, plugin in plugins.items()
        ]

    def add(self, *plugins: Any) -> None:
        """Add installed plugins by name, or any objects with hook implementations.

        Hooks that a plugin declares are added, too.

        Raises:
            ConfigurationError: A plugin has no hooks, has unknown hooks or one that is async and
                not awaited, or is there already.
        """
        for plugin in plugins:
            self._register(plugin)
        self._check_awaited()
        try:
            for module in self.hook.interpstack_add_hookspecs():
                if module not in self._specs:
                    self._specs.append(module)
                    self._manager.add_hookspecs(module)
            self._manager.check_pending()
            self._check_awaited()
        except pluggy.PluginValidationError as error:
            name = self._manager.get_name(error.plugin)
            why = " ".join(str(error).split())
            raise ConfigurationError(f"plugin {name!r} cannot be used: {why}") from error

    def _check_awaited(self) -> None:
        """Refuse async implementations of hooks whose answers nobody awaits.

        Raises:
            ConfigurationError: There is one; what it does would never happen.
        """
        for hook in vars(self.hook).values():
            spec = hook.spec and hook.spec.function
            answer = getattr(spec, "__annotations__", {}).get("return", "Awaitable")
            for impl in hook.get_hookimpls():
                if iscoroutinefunction(impl.function) and "Awaitable" not in str(answer):
                    raise ConfigurationError(
                        f"plugin {impl.plugin_name!r} cannot be used: {hook.name} is a plain "
                        "function, since nobody awaits it; write def in place of async def"
                    )

    def _register(self, plugin: Any) -> None:
        if isinstance(plugin, str):
            name, target = plugin, load(plugin)
            self._entries[name] = installed()[name]
        else:
            name, target = getattr(plugin, "name", None) or _name_of(plugin), plugin
        if self._manager.has_plugin(name):
            raise ConfigurationError(f"plugin {name!r} is listed twice; list it once")
        try:
            self._manager.register(target, name)
        except (ValueError, pluggy.PluginValidationError) as error:
            why = " ".join(str(error).split())
            raise ConfigurationError(f"plugin {name!r} cannot be used: {why}") from error
        if not self._manager.get_hookcallers(target):
            raise ConfigurationError(f"plugin {name!r} has no hooks; mark functions with @hookimpl")
        if isinstance(target, type):
            raise ConfigurationError(f"plugin {name!r} is a class; list an object of it")

    def names(self) -> tuple[str, ...]:
        """Plugin names in the order in which they are called."""
        return tuple(reversed([name for name, _ in self._manager.list_name_plugin()]))

    def engines(self) -> dict[str, type[Engine]]:
        """Engine classes the plugins register, by name.

        Raises:
            PluginLoadError: A package that the plugin's engine needs cannot be imported.
            ConfigurationError: Something else is registered, or two engines of one name.
        """
        found: dict[str, type[Engine]] = {}
        for plugin, register in self.each("interpstack_register_engine"):
            try:
                classes = register()
            except ImportError as error:
                raise PluginLoadError(plugin, error) from error
            for cls in classes:
                if not (isinstance(cls, type) and issubclass(cls, Engine)):
                    raise ConfigurationError(
                        f"{shown(cls)} is registered as an engine but is not one"
                    )
                if cls.name in found:
                    raise ConfigurationError(
                        f"engine {cls.name!r} is registered by {_name_of(found[cls.name])} and "
                        f"{_name_of(cls)}; leave one plugin out"
                    )
                found[cls.name] = cls
        return found

    def languages(self) -> dict[str, GuestLanguage]:
        """Languages the plugins register, with their dialects, by name.

        Raises:
            ConfigurationError: Something else is registered, or two languages of one name.
        """
        found: dict[str, tuple[str, GuestLanguage]] = {}
        for plugin, register in self.each("interpstack_register_language"):
            for language in register():
                expect(language, GuestLanguage, f"plugin {plugin!r} returns a GuestLanguage")
                for item in (language, *language.dialects):
                    other, known = found.setdefault(item.name, (plugin, item))
                    if known != item:
                        raise ConfigurationError(
                            f"plugins {other!r} and {plugin!r} register different languages as "
                            f"{item.name!r}; leave one of them out"
                        )
        return {name: language for name, (_, language) in found.items()}

    def describe(self) -> tuple[PluginInfo, ...]:
        """All plugins with their hooks."""
        return tuple(self._describe(*one) for one in reversed(self._manager.list_name_plugin()))

    def _describe(self, name: str, plugin: Any) -> PluginInfo:
        hooks = tuple(sorted(one.name for one in self._manager.get_hookcallers(plugin) or ()))
        engines = "interpstack_register_engine" in hooks
        engine = getattr(plugin.interpstack_register_engine() if engines else None, "name", None)
        entry = self._entries.get(name)
        version = _version(entry.dist) if entry is not None and entry.dist is not None else ""
        return PluginInfo(name, version, hooks, engine)


def find_engine(name: str, manager: PluginManager) -> type[Engine]:
    """The engine class `name`, from the stack's own plugins or the installed ones.

    The plugin of that name is tried first, so that no other one is imported for it; only an
    unknown name makes all installed plugins load. A plugin that is added is called before the
    listed ones. In `outer:inner`, the first engine runs the second (`Engine.around`).

    Raises:
        UnknownEngine: No plugin registers it.
        PluginLoadError: The plugin that should register it cannot be imported.
        ConfigurationError: The outer engine does not run others, or not this one.
    """
    outer, colon, inner = name.partition(":")
    if colon:
        if not (outer and inner):
            raise ConfigurationError(
                f"engine {name!r}: name an engine on both sides of the colon, as in 'process:v8'"
            )
        return find_engine(outer, manager).around(find_engine(inner, manager))
    engines = manager.engines()
    if name in engines:
        return engines[name]
    candidates, missing = installed(), list[str]()
    for plugin in sorted(candidates, key=lambda plugin: plugin != name):
        if plugin in manager.names():
            continue
        try:
            single = PluginManager([plugin])
            missing.append(plugin)  # until its engines can be imported
            found = single.engines()
            missing.pop()
        except ConfigurationError:
            if plugin == name:
                raise
            continue  # a broken plugin must not hide that the name is wrong
        if name in found:
            manager.add(plugin)
            return found[name]
        engines.update(found)
    raise UnknownEngine(name, engines, missing)


def find_language(engine: type[Engine], manager: PluginManager, more: bool = True) -> GuestLanguage:
    """The language of an engine, from the stack's own plugins or the installed ones.

    The plugin called after the engine is tried first, then, if `more` may be loaded, all others.
    A language that no plugin registers is a neutral one.
    """
    name, own = engine.language, engine.name.rpartition(":")[2]
    found = chain(manager.languages().values(), installed_languages(own, others=more))
    return next((one for one in found if one.name == name), GuestLanguage(name=name))


def installed_languages(first: str = "", *, others: bool = True) -> Iterator[GuestLanguage]:
    """Languages and dialects from the plugin `first`, then from all `others` that are installed.

    Each plugin is loaded when its turn comes, and passed over if it cannot be loaded.
    """
    names = installed().keys() if others else installed().keys() & {first}
    for plugin in sorted(names, key=lambda name: name != first):
        try:
            found = PluginManager([plugin]).languages()
        except (ImportError, ConfigurationError):
            continue
        yield from found.values()


def _name_of(plugin: Any) -> str:
    target = plugin if isinstance(plugin, type) or hasattr(plugin, "__name__") else type(plugin)
    module = getattr(target, "__module__", None)
    return f"{module}.{target.__qualname__}" if module else str(target.__name__)


def _print_call(begun: dict[int, float], end: Any, name: str, impls: Any, given: Any) -> None:
    """Print a hook call: its name, its time and its plugins, in the order of the calls."""
    ms = (time.perf_counter() - begun.pop(id(given))) * 1000
    plugins = ", ".join(reversed([impl.plugin_name for impl in impls])) or "no plugin"
    sys.stderr.write(f"{name} {ms:.3f} ms: {plugins}\n")
