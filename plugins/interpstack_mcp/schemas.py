"""Structured content of results, held to the output schema of its tool.

Schemas come from servers and are untrusted: they are evaluated for a bounded time, longer than a
moment off the event loop, and without their regular expressions, which may take for ever.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from interpstack_schemas import EvaluationTimeout, bounded_dialect, within

__all__ = ["OutputSchema"]

_log = logging.getLogger("interpstack.mcp")
#: Seconds for which a result is held to a schema, and those of them on the event loop.
_SECONDS: Final = 2.0
_AT_ONCE_SECONDS: Final = 0.002
#: Values and characters of a result that is held to a schema on the event loop.
_AT_ONCE_VALUES: Final = 50
_AT_ONCE_CHARS: Final = 2000
#: Characters of a fault.
_FAULT_CHARS: Final = 500
#: Keywords that are not evaluated: they match regular expressions, or cannot be bounded.
_LEFT_OUT: Final = frozenset(
    {"pattern", "patternProperties", "unevaluatedItems", "unevaluatedProperties"}
)
#: Keywords whose keys are names.
_NAMES: Final = frozenset({"properties", "$defs", "definitions", "dependentSchemas"})
#: Keywords whose values are not schemas.
_VALUES: Final = frozenset({"const", "enum", "default", "examples", "required"})


class OutputSchema:
    """The output schema of one tool.

    Args:
        tool: The name of the tool, for the log.
        schema: The schema, as the server lists it.
    """

    def __init__(self, tool: str, schema: Mapping[str, Any]) -> None:
        self._tool = tool
        self._schema = schema
        self._validator: Any = None
        self._slow = False

    async def fault(self, value: Any) -> str:
        """The first fault of structured content, with its place; empty if there is none.

        A schema that cannot be evaluated finds no faults, and the log says why.
        """
        if self._validator is not None and not self._slow and _is_small(value):
            try:
                return self._fault(value, _AT_ONCE_SECONDS)
            except EvaluationTimeout:
                self._slow = True
        return await asyncio.to_thread(self._found, value)

    def _found(self, value: Any) -> str:
        try:
            return self._fault(value, _SECONDS)
        except EvaluationTimeout:
            return self._unusable(f"it takes more than {_SECONDS:g} seconds")

    def _fault(self, value: Any, seconds: float) -> str:
        try:
            error = within(seconds, lambda: next(self._checking().iter_errors(value), None))
        except EvaluationTimeout:
            raise
        except Exception as error:  # noqa: BLE001 - of a schema in any form, or nested too deeply
            return self._unusable(f"{type(error).__name__}: {error}")
        return "" if error is None else f"{error.json_path}: {error.message}"[:_FAULT_CHARS]

    def _checking(self) -> Any:
        """The validator, which resolves no reference outside the schema."""
        if self._validator is None:
            from jsonschema.validators import Draft202012Validator, validator_for
            from referencing import Registry

            kind = validator_for(self._schema, default=Draft202012Validator)
            self._validator = bounded_dialect(kind)(_reduced(self._schema), registry=Registry())
        return self._validator

    def _unusable(self, why: str) -> str:
        _log.warning("the output schema of %s was not evaluated: %.300s", self._tool, why)
        return ""


def _is_small(value: Any) -> bool:
    """Whether no keyword takes long for a value: each looks at the clock, but only before it."""
    values, chars = [value], 0
    for one in values:
        if isinstance(one, dict):
            chars += sum(map(len, one))
            values += one.values()
        elif isinstance(one, list):
            values += one
        elif isinstance(one, str):
            chars += len(one)
        elif isinstance(one, int) and one.bit_length() > _AT_ONCE_CHARS:
            return False
        if len(values) > _AT_ONCE_VALUES or chars > _AT_ONCE_CHARS:
            return False
    return True


def _reduced(schema: Any, keywords: bool = True) -> Any:
    """A schema without the keywords that are not evaluated."""
    if isinstance(schema, list):
        return [_reduced(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    left_out = _LEFT_OUT if keywords else frozenset()
    if keywords and "patternProperties" in schema:
        left_out |= {"additionalProperties"}  # whose meaning depends on the patterns
    return {
        key: value
        if keywords and key in _VALUES
        else _reduced(value, not keywords or key not in _NAMES)
        for key, value in schema.items()
        if key not in left_out
    }
