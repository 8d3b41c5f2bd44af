"""Stand-ins: the simplest values that fit a JSON Schema, in the place of answers of agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["stand_in"]

#: Values that one stand-in has at most, and how deep they are nested.
_VALUES: Final = 2000
_DEPTH: Final = 20
#: Items, and characters, that a schema may ask for at least.
_LONGEST: Final = 100
_TEXT: Final = "stand-in"


def stand_in(schema: Any, text: str = _TEXT) -> Any:
    """Return the simplest value that fits a schema, as far as that is easy to say.

    Args:
        schema: A JSON Schema; untrusted.
        text: The text of strings.
    """
    return _Maker(schema, text).value(schema, 0)


class _Maker:
    def __init__(self, root: Any, text: str) -> None:
        self._root = root
        self._text = text
        self._left = _VALUES

    def value(self, schema: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEPTH or not isinstance(schema, Mapping):
            return self._text if schema is True else None
        if isinstance(choices := schema.get("enum"), list) and choices:
            return choices[0]
        for name in ("const", "default"):
            if name in schema:
                return schema[name]
        if isinstance(ref := schema.get("$ref"), str):
            return self.value(self._referred(ref), depth + 1)
        for name in ("anyOf", "oneOf", "allOf"):
            if isinstance(parts := schema.get(name), list) and parts:
                rest = {key: value for key, value in schema.items() if key != name}
                first = parts[0] if isinstance(parts[0], Mapping) else {}
                return self.value({**first, **rest}, depth + 1)
        return self._of_type(schema, depth)

    def _of_type(self, schema: Mapping[str, Any], depth: int) -> Any:
        match _type_of(schema):
            case "object":
                fields = schema.get("properties")
                named = fields if isinstance(fields, Mapping) else {}
                required = schema.get("required")
                also = required if isinstance(required, list) else []
                missing = {name: {"type": "string"} for name in also if isinstance(name, str)}
                return {
                    name: self.value(one, depth + 1) for name, one in {**missing, **named}.items()
                }
            case "array":
                least = min(max(_count(schema.get("minItems")), 1), _LONGEST)
                first = schema.get("prefixItems")
                own = first if isinstance(first, list) else []
                rest = [schema.get("items", True)] * (least - len(own))
                return [self.value(one, depth + 1) for one in [*own[:_LONGEST], *rest]]
            case "number" | "integer":
                return _number(schema)
            case "boolean":
                return True
            case "null":
                return None
            case _:
                least = min(_count(schema.get("minLength")), _LONGEST)
                most = _count(schema.get("maxLength"), len(self._text))
                return self._text.ljust(least, ".")[: max(most, least)]

    def _referred(self, ref: str) -> Any:
        """Return the schema at a pointer into the root."""
        found = self._root
        for part in ref.removeprefix("#").split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        return found


def _type_of(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        kind = kind[0]
    if kind is None and ("properties" in schema or "required" in schema):
        return "object"
    return "array" if kind is None and "items" in schema else kind


def _count(given: Any, usual: int = 0) -> int:
    return given if type(given) is int and given >= 0 else usual


def _number(schema: Mapping[str, Any]) -> Any:
    least, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    most = schema.get("maximum")
    if isinstance(least, (int, float)):
        return least
    if isinstance(above, (int, float)):
        return above + 1
    return min(most, 0) if isinstance(most, (int, float)) else 0
