"""Answers of agents, held to the JSON Schema that a script asks for.

Schemas come from scripts and are untrusted: they refer to nothing outside themselves, and have no
regular expressions, with which a few characters could keep the host busy for ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["AnswerSchema", "SchemaFault"]

#: Faults of one answer that are listed, and characters of each.
_FAULTS: Final = 10
_FAULT_CHARS: Final = 300
_REFUSED: Final = ("pattern", "patternProperties")
#: Keywords whose keys are names.
_NAMES: Final = ("properties", "$defs", "definitions", "dependentSchemas", "dependentRequired")
_OUTSIDE: Final = ("$ref", "$dynamicRef", "$recursiveRef")


class SchemaFault(ValueError):
    """A schema is wrong, or cannot be used; the message says why."""


class AnswerSchema:
    """A checked schema.

    Args:
        schema: The schema, from a script.

    Raises:
        SchemaFault: It is no JSON Schema, has a regular expression, or refers to something outside
            itself.
    """

    def __init__(self, schema: Any) -> None:
        try:
            from jsonschema.exceptions import SchemaError
            from jsonschema.validators import Draft202012Validator, validator_for
            from referencing import Registry
        except ImportError as error:
            raise SchemaFault(
                f"agent option schema needs a package that is not installed ({error}); "
                "run: pip install 'interpstack[workflows]'"
            ) from error
        if not isinstance(schema, Mapping):
            raise SchemaFault(f"agent option schema takes a JSON Schema; got {schema!r:.100}")
        for fault in _refused(schema):
            raise SchemaFault(f"agent option schema: {fault}")
        kind = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(dict(schema))
        except (SchemaError, RecursionError) as error:
            why = str(getattr(error, "message", "it is nested too deeply"))
            raise SchemaFault(f"agent option schema is no JSON Schema: {why:.300}") from error
        self._validator = kind(schema, registry=Registry())
        self._takes_text = schema.get("type") == "string"

    def value(self, answer: Any) -> Any:
        """The value of an answer: text is read as JSON, unless the schema wants text."""
        if not isinstance(answer, str) or self._takes_text:
            return answer
        try:
            return json.loads(answer)
        except (ValueError, RecursionError):
            return answer

    def faults(self, value: Any) -> list[str]:
        """The faults of a value, with their places; none for a value that fits."""
        try:
            found = [
                f"{error.json_path}: {error.message:.{_FAULT_CHARS}}"
                for _, error in zip(
                    range(_FAULTS), self._validator.iter_errors(value), strict=False
                )
            ]
        except RecursionError:
            return ["$: the value or the schema is nested too deeply"]
        return sorted(found)

    @staticmethod
    def correction(prompt: str, faults: list[str]) -> str:
        """The prompt of the second attempt, which lists the faults of the first answer."""
        listed = "\n".join(f"- {fault}" for fault in faults)
        return (
            f"{prompt}\n\nYour last answer did not match the JSON Schema:\n{listed}\n"
            "Answer again with JSON alone that matches it."
        )


def _refused(schema: Any) -> Iterator[str]:
    """Faults of a schema that its own language allows."""
    waiting = [(schema, True)]  # whether the keys are keywords: those of `properties` are names
    while waiting:
        node, keywords = waiting.pop()
        if isinstance(node, list):
            waiting += [(item, True) for item in node]
        if not isinstance(node, Mapping):
            continue
        for key, value in node.items():
            if keywords and key in _REFUSED:
                yield f"{key} is not supported, for regular expressions may take for ever"
            outside = isinstance(value, str) and not value.startswith("#")
            if keywords and key in _OUTSIDE and outside:
                yield f"{key} takes a reference within the schema, as in '#/$defs/item'"
            waiting.append((value, not (keywords and key in _NAMES)))
