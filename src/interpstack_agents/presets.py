"""Presets: the plugins that an adapter composes, as a value that its users may change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from interpstack import ConfigurationError
from interpstack.checks import repeated, shown
from interpstack.similar_names import did_you_mean

__all__ = ["Preset"]


@attrs.frozen
class _PresetSlot:
    """One place of a preset.

    Attributes:
        role: Name of the place: that of the plugin which stood there first.
        plugin: Name of an installed plugin, or an object with hook implementations.
    """

    role: str
    plugin: Any

    @property
    def names(self) -> tuple[str, str]:
        return self.role, _name_of(self.plugin)


def _as_slots(plugins: Iterable[Any]) -> tuple[_PresetSlot, ...]:
    if isinstance(plugins, str) or not isinstance(plugins, Iterable):
        raise ConfigurationError(f"a Preset takes a list of plugins; got {shown(plugins)}")
    slots = [
        one if isinstance(one, _PresetSlot) else _PresetSlot(_name_of(one), one) for one in plugins
    ]
    twice = repeated(slot.role for slot in slots)
    if twice is not None:
        raise ConfigurationError(f"a Preset has {twice!r} twice; list it once")
    return tuple(slots)


@attrs.frozen
class Preset:
    """A list of plugins in the order in which a stack calls them; changes make a new preset.

    ```python
    preset = PRESET.without("skills").replace("ptc", "my-ptc").with_("audit", before="console")
    ```

    A plugin that replaces another one takes over its place and its *role*: `without("ptc")` and
    arguments of an adapter that concern `ptc` mean the plugin that stands there now.

    Args:
        plugins: Names of installed plugins, or objects with hook implementations.

    Raises:
        ConfigurationError: A plugin is listed twice, or is not a plugin.
    """

    _slots: tuple[_PresetSlot, ...] = attrs.field(default=(), alias="plugins", converter=_as_slots)

    @property
    def plugins(self) -> tuple[Any, ...]:
        """Names of plugins and plugin objects, as `InterpreterStack` takes them."""
        return tuple(slot.plugin for slot in self._slots)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the plugins, in order."""
        return tuple(_name_of(slot.plugin) for slot in self._slots)

    def __contains__(self, name: object) -> bool:
        """Whether a plugin of this name or role is there."""
        return any(name in slot.names for slot in self._slots)

    def without(self, *names: str) -> Preset:
        """The preset without some plugins.

        Raises:
            ConfigurationError: One of them is not in the preset.
        """
        removed = {self._find(name) for name in names}
        return Preset([slot for index, slot in enumerate(self._slots) if index not in removed])

    def replace(self, name: str, plugin: Any) -> Preset:
        """The preset with another plugin in the place of one.

        Args:
            name: Name of the plugin that goes.
            plugin: Name of the plugin that comes, or an object with hook implementations.

        Raises:
            ConfigurationError: `name` is not in the preset, or `plugin` already is.
        """
        index = self._find(name)
        slot = _PresetSlot(self._slots[index].role, self._new(plugin, beside=index))
        return Preset([*self._slots[:index], slot, *self._slots[index + 1 :]])

    def with_(self, plugin: Any, *, before: str | None = None, after: str | None = None) -> Preset:
        """The preset with one more plugin, or with one of its plugins in another place.

        Args:
            plugin: Name of a plugin, or an object with hook implementations.
            before: Name of the plugin before which it is called.
            after: Name of the plugin after which it is called; without `before` and `after`,
                it is called last.

        Raises:
            ConfigurationError: A place is wrong, or an object is not a plugin.
        """
        if before is not None and after is not None:
            raise ConfigurationError("with_ takes before= or after=, not both")
        own = isinstance(plugin, str) and plugin in self
        if own and before is None and after is None:
            raise ConfigurationError(f"the preset has {shown(plugin)} already; list it once")
        slot = self._slots[self._find(plugin)] if own else _PresetSlot(_name_of(plugin), plugin)
        if not own:
            self._new(plugin)
        rest = tuple(one for one in self._slots if one is not slot)
        place = before if after is None else after
        index = len(rest) if place is None else _index(rest, place) + (after is not None)
        return Preset([*rest[:index], slot, *rest[index:]])

    def _new(self, plugin: Any, beside: int | None = None) -> Any:
        """A plugin, after a check that it is not in another place of the preset."""
        name = _name_of(plugin)
        others = [slot for index, slot in enumerate(self._slots) if index != beside]
        if any(name in slot.names for slot in others):
            raise ConfigurationError(f"the preset has {name!r} already; list it once")
        return plugin

    def _find(self, name: str) -> int:
        return _index(self._slots, name)


def _index(slots: tuple[_PresetSlot, ...], name: str) -> int:
    """The index of a plugin among others.

    Raises:
        ConfigurationError: There is no plugin of this name; the message names the nearest one.
    """
    for index, slot in enumerate(slots):
        if name in slot.names:
            return index
    known = [one for slot in slots for one in dict.fromkeys(slot.names)]
    hint = did_you_mean(name, known) if isinstance(name, str) else ""
    listed = ", ".join(known) or "no plugins"
    raise ConfigurationError(f"the preset has no plugin {name!r:.100}; it has: {listed}{hint}")


def _name_of(plugin: Any) -> str:
    """The name that a stack uses for a plugin.

    Raises:
        ConfigurationError: The object is not a plugin.
    """
    if isinstance(plugin, str):
        return plugin
    name = getattr(plugin, "name", None) or getattr(plugin, "__name__", None)
    name = name or type(plugin).__qualname__
    if plugin is None or isinstance(plugin, (int, float, bytes, list, tuple, dict, set)):
        raise ConfigurationError(
            f"{shown(plugin)} is not a plugin; pass the name of an installed plugin, or an object "
            "with functions marked by @hookimpl"
        )
    return str(name)
