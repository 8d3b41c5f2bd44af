"""The values of `--plugin`: installed plugins, or objects of a module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interpstack_cli.running.references import attribute_of, import_named, nearest

__all__ = ["load_plugins"]


def load_plugins(references: Iterable[str]) -> list[Any]:
    """Plugins as a stack takes them, each once.

    Args:
        references: Names of installed plugins, or `MODULE:ATTR`; `MODULE:` is the module itself.

    Raises:
        ConfigurationError: A module cannot be imported, or has no such attribute.
    """
    return [_load(reference) for reference in dict.fromkeys(references)]


def _load(reference: str) -> Any:
    module_name, colon, attribute = reference.partition(":")
    if not colon:
        return reference
    given = f"--plugin {reference}"
    module = import_named(given, module_name)
    public = [name for name in vars(module) if not name.startswith("_")]
    offer = nearest(attribute, public) or "nothing"
    return attribute_of(given, module, attribute, f"it has: {offer}")
