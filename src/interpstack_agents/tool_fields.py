"""Fields of a call that a tool does not have, found by the JSON Schema of its input.

JSON Schema takes further fields unless it says otherwise, and most libraries drop them: a call with
`{query: "tea"}` for `q` would run without its argument. So an object takes the fields that its
schema describes, and others only if the schema says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["unknown_field"]

#: Schemas that may describe one value, by references and alternatives: beyond, nothing is refused.
_BRANCHES: Final = 200
_COMBINED: Final = ("allOf", "anyOf", "oneOf")
#: Of these, one schema holds.
_ALTERNATIVE: Final = ("anyOf", "oneOf")
_BRANCHED: Final = ("if", "then", "else")
#: Schemas that hold if the object has a field; in older versions, also lists of further fields.
_DEPENDENT: Final = ("dependentSchemas", "dependencies")
#: Keywords that say which objects there are; a schema without one of them, or a type, takes all.
_TELLING: Final = ("type", "properties", "required", "$ref", "const", "enum", "not")
#: Fields that are shown in a message, and their characters.
_SHOWN: Final = 30
_SHOWN_CHARS: Final = 100

_Schemas = list[Mapping[str, Any]]


def unknown_field(schema: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """The words about a field that the schema of a tool's input does not have; empty if it has all.

    Args:
        schema: JSON Schema of the input; its references are followed inside it.
        given: The input of the call, in plain types.
    """
    if not schema.get("properties") and not any(key in schema for key in (*_COMBINED, "$ref")):
        described = isinstance(schema.get("properties"), Mapping)
        takes_any = schema.get("additionalProperties", not described)
        given = {
            key: item for key, item in given.items() if key not in _list(schema.get("required"))
        }
        if isinstance(takes_any, Mapping):
            return _Search(schema).object(given, [schema], "")
        if takes_any is not False or not given or "patternProperties" in schema:
            return ""
        return f"has no field {_shown(next(iter(given)))}; it takes no fields"
    known = schema.get("properties")
    if isinstance(known, Mapping) and given.keys() <= known.keys():
        # Most calls: every field is described, and none has fields of its own.
        for item in given.values():
            if isinstance(item, (Mapping, Sequence)) and not isinstance(item, (str, bytes)):
                break
        else:
            return ""
    return _Search(schema).object(given, [schema], "")


class _Search:
    """The search in one input."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def value(self, given: Any, schemas: _Schemas, path: str) -> str:
        if isinstance(given, Mapping):
            return self.object(given, schemas, path)
        if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
            branches = self._branches(schemas) or []
            for at, item in enumerate(given):
                found = self.value(item, list(_items(branches, at)), f"{path}[{at}]")
                if found:
                    return found
        return ""

    def object(self, given: Mapping[str, Any], schemas: _Schemas, path: str) -> str:
        branches = self._branches(schemas, given)
        known: dict[str, _Schemas] = {}
        for branch in branches or ():
            for name, about in _mapping(branch.get("properties")).items():
                if isinstance(name, str):  # else this is not a JSON Schema
                    known.setdefault(name, []).append(_schema(about))
        if known:  # some schemas do not describe all fields that they require
            for name in [
                name for branch in branches or () for name in _list(branch.get("required"))
            ]:
                known.setdefault(str(name), [])
        more = [_further(branch) for branch in branches or () if _takes_more(branch)]
        if not branches or not known or more:
            known = {key: known.get(key, more) for key in given}
        for key, item in given.items():
            place = f"{path}.{key}" if path else str(key)
            if key not in known:
                names = ", ".join(list(known)[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
                owner = f"the fields of {path[:_SHOWN_CHARS]}" if path else "its fields"
                return f"has no field {_shown(place)}; {owner} are: {names}"
            found = self.value(item, known[key], place)
            if found:
                return found
        return ""

    def _branches(
        self, schemas: _Schemas, given: Mapping[str, Any] | None = None
    ) -> _Schemas | None:
        """The schemas, and the ones that they refer to; `None` if they are too many.

        Of alternatives, those are left out whose tag the object does not have, such as a `type` of
        one value: what validates the call takes another one, and drops the fields that it lacks.
        """
        found, seen = list(schemas), set[int]()
        for one in found:
            if id(one) in seen:
                continue
            seen.add(id(one))
            inner = _list(one.get("allOf"))[:]
            for key in _ALTERNATIVE:
                items = _list(one.get(key))
                inner += [item for item in items if self._fits(item, given)] or items
            inner += [one[key] for key in _BRANCHED if key in one]
            dependent = [item for key in _DEPENDENT for item in _mapping(one.get(key)).values()]
            inner += [item for item in dependent if not isinstance(item, list)]
            inner += [self._target(one["$ref"])] if "$ref" in one else []
            found += map(_schema, inner)
            if len(found) > _BRANCHES:
                return None
        return found

    def _fits(self, schema: Any, given: Mapping[str, Any] | None) -> bool:
        """Whether no field of an object contradicts the one value that a schema allows for it."""
        if given is None:
            return True
        about = _schema(schema)
        if "$ref" in about and "properties" not in about:
            about = _schema(self._target(about["$ref"]))
        for name, field in _mapping(about.get("properties")).items():
            if name in given and isinstance(given[name], str) and isinstance(field, Mapping):
                allowed = [field["const"]] if "const" in field else _list(field.get("enum"))
                if allowed and given[name] not in allowed:
                    return False
        return True

    def _target(self, reference: Any) -> Any:
        """The schema that a reference names; for one out of the root, it takes everything."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return True
        at: Any = self._root
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(at, Mapping) or name not in at:
                return True
            at = at[name]
        return at


def _takes_more(schema: Mapping[str, Any]) -> bool:
    """Whether a schema, without what it refers to, takes fields that it does not describe."""
    if schema.get("additionalProperties", False) is not False or "patternProperties" in schema:
        return True
    if schema.get("unevaluatedProperties", False) is not False:
        return True
    combined = any(key in schema for key in (*_COMBINED, *_BRANCHED))
    if schema.get("type") == "object":
        return "properties" not in schema and not combined
    return not combined and not any(key in schema for key in _TELLING)


def _further(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a field that an object takes without describing it; an empty one if unknown."""
    return {} if "patternProperties" in schema else _schema(schema.get("additionalProperties"))


def _items(branches: _Schemas, at: int) -> Iterator[Mapping[str, Any]]:
    for branch in branches:
        first = _list(branch.get("prefixItems"))
        if at < len(first):
            yield _schema(first[at])
        elif "items" in branch:
            yield _schema(branch["items"])


def _schema(given: Any) -> Mapping[str, Any]:
    """A schema as an object: `true` takes everything, and so does what is none."""
    return given if isinstance(given, Mapping) else {}


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []


def _shown(name: Any) -> str:
    return repr(str(name)[:_SHOWN_CHARS])
