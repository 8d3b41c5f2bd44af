"""Signatures of attrs classes, for the API reference.

Griffe reads the source, which has no `__init__` for them; the real class has one.
"""

from __future__ import annotations

import inspect
from typing import Any

import griffe

_DECORATORS = {"attrs.define", "attrs.frozen"}


class AttrsSignatures(griffe.Extension):
    """Adds the `__init__` that attrs makes."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Add the method to a class that attrs decorates."""
        if "__init__" in cls.members:
            return
        if not any(decorator.callable_path in _DECORATORS for decorator in cls.decorators):
            return
        signature = inspect.signature(griffe.dynamic_import(cls.path))
        parameters = [griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)]
        parameters += [_parameter(cls, found) for found in signature.parameters.values()]
        method = griffe.Function("__init__", parameters=griffe.Parameters(*parameters), parent=cls)
        cls.set_member("__init__", method)


def _parameter(cls: griffe.Class, found: inspect.Parameter) -> griffe.Parameter:
    """One parameter, with its annotation as the source writes it."""
    field = cls.members.get(found.name)
    written = field.annotation if isinstance(field, griffe.Attribute) else None
    if written is None and isinstance(found.annotation, str):  # a field of a base class
        written = found.annotation
    default = None if found.default is inspect.Parameter.empty else _shown(found.default)
    kind = griffe.ParameterKind(found.kind.description)
    return griffe.Parameter(found.name, annotation=written, kind=kind, default=default)


def _shown(default: object) -> str:
    """A default that means something to a reader; a factory is `...`."""
    plain = default is None or isinstance(default, bool | int | float | str | bytes | tuple)
    return repr(default) if plain else "..."
