"""The values of `--plugin`: installed plugins, or objects of a module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interpstack_cli.running.references import attribute_named

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
    return attribute_named("--plugin", reference) if ":" in reference else reference
