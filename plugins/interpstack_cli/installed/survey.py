"""A survey of installed plugins: loads each plugin, and records the reason of each failure."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import attrs

from interpstack import Engine, PluginLoadError, PluginManager, installed
from interpstack_cli.installed.extras import extra_for

__all__ = ["EngineEntry", "FailedPlugin", "PluginEntry", "Survey", "survey"]


@attrs.frozen
class PluginEntry:
    """A plugin that loads."""

    name: str
    version: str
    distribution: str
    hooks: tuple[str, ...]


@attrs.frozen
class EngineEntry:
    """An engine and the plugin that registers it."""

    cls: type[Engine]
    plugin: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "name": self.cls.name,
            "plugin": self.plugin,
            "isolation": self.cls.isolation.value,
            "language": self.cls.language,
            "capabilities": sorted(c.value for c in self.cls.capabilities),
        }


@attrs.frozen
class FailedPlugin:
    """A plugin that does not load, and why.

    Attributes:
        name: The name of the plugin.
        distribution: The distribution that contains the plugin; empty if unknown.
        reason: The exception of its import.
        extra: The extra with the missing package; empty if the plugin is broken.
    """

    name: str
    distribution: str
    reason: str
    extra: str = ""


@attrs.frozen
class Survey:
    """All installed plugins, sorted by name."""

    engines: tuple[EngineEntry, ...]
    plugins: tuple[PluginEntry, ...]
    failed: tuple[FailedPlugin, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "engines": [engine.to_dict() for engine in self.engines],
            "plugins": [attrs.asdict(plugin) for plugin in self.plugins],
            "failed": [attrs.asdict(plugin) for plugin in self.failed],
        }


def survey() -> Survey:
    """Load every installed plugin, each on its own."""
    engines: list[EngineEntry] = []
    plugins: list[PluginEntry] = []
    failed: list[FailedPlugin] = []
    for name, entry in installed().items():
        distribution = entry.dist.name if entry.dist else ""
        try:
            found, offered = _load(name, entry)
        except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
            cause = error.__cause__ if isinstance(error, PluginLoadError) else error
            extra = extra_for(entry, cause)
            failed.append(FailedPlugin(name, distribution, _reason(name, error), extra))
            continue
        plugins.append(found)
        engines += offered
    return Survey(tuple(engines), tuple(plugins), tuple(failed))


def _load(name: str, entry: EntryPoint) -> tuple[PluginEntry, list[EngineEntry]]:
    manager = PluginManager([name])
    engines = [EngineEntry(cls, name) for cls in manager.engines().values()]
    info = manager.describe()[0]
    distribution = entry.dist.name if entry.dist else ""
    return PluginEntry(name, info.version, distribution, info.hooks), engines


def _reason(name: str, error: Exception) -> str:
    cause = error.__cause__ if isinstance(error, PluginLoadError) else error
    fault = cause if isinstance(cause, ImportError) else error
    text = str(fault) if str(cause) else f"{fault}{type(cause).__name__}"
    return text if repr(name) in text else f"{type(fault).__name__}: {text}"
