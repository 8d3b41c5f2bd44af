"""Fields of a call that a tool does not have, found by the JSON Schema of its input.

JSON Schema takes further fields unless it says otherwise, and most libraries drop them: a call with
`{query: "tea"}` for `q` would run without its argument. So an object takes the fields that its
schema describes, and others only if the schema says so. Of a union of objects, libraries keep one:
the fields must be those of one alternative, not of several together.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["has_plain_fields", "misfitting_field", "missing_field", "unknown_field"]

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
#: Keywords by which a schema says more of an object than that it is one of some alternatives.
_BESIDE: Final = frozenset({
    "type", "properties", "required", "allOf", "additionalProperties", "patternProperties",
    "unevaluatedProperties", *_BRANCHED, *_DEPENDENT,
})  # fmt: skip
#: The schema that takes everything; one object, which results are kept by.
_ANY: Final[Mapping[str, Any]] = {}
#: Words that libraries take for a truth value.
_TRUTHS: Final = frozenset(
    {"0", "1", "f", "t", "n", "y", "no", "yes", "off", "on", "false", "true"}
)
#: Fields that are shown in a message, and their characters.
_SHOWN: Final = 30
_SHOWN_CHARS: Final = 100

#: Words that they take for nothing.
_NOTHING: Final = frozenset({"", "none", "null"})
#: Types of JSON Schema whose values are of these types.
_TYPES: Final[Mapping[str, Any]] = {
    "array": list,
    "integer": int,
    "number": (int, float),
    "object": Mapping,
    "string": str,
}
_KINDS: Final = frozenset({*_TYPES, "boolean", "null"})
#: Keywords by which fields depend on each other, or on something else.
_BESIDE_FIELDS: Final = frozenset({"$ref", "not", *_COMBINED, *_BRANCHED, *_DEPENDENT})

_Schemas = list[Mapping[str, Any]]


def unknown_field(schema: Mapping[str, Any], given: Mapping[str, Any], own: str = "") -> str:
    """The words about a field that the schema of a tool's input does not have; empty if it has all.

    Args:
        schema: JSON Schema of the input; its references are followed inside it.
        given: The input of the call, in plain types.
        own: A list of the tool's own fields, such as one with types; by default, their names.
    """
    if not schema.get("properties") and not any(key in schema for key in (*_COMBINED, "$ref")):
        described = isinstance(schema.get("properties"), Mapping)
        takes_any = schema.get("additionalProperties", not described)
        given = {
            key: item for key, item in given.items() if key not in _list(schema.get("required"))
        }
        if isinstance(takes_any, Mapping):
            return _Search(schema, own).object(given, [schema], "")
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
    return _Search(schema, own).object(given, [schema], "")


def has_plain_fields(schema: Mapping[str, Any]) -> bool:
    """Whether an input's schema describes its fields one by one, without alternatives."""
    return isinstance(schema.get("properties"), Mapping) and _BESIDE_FIELDS.isdisjoint(schema)


def missing_field(schema: Mapping[str, Any], given: Collection[str]) -> str:
    """A required field that an input lacks; empty if it lacks none.

    Args:
        schema: JSON Schema of the input, which has plain fields.
        given: Names of the fields that the input has.
    """
    about = _mapping(schema.get("properties"))
    required = [name for name in _list(schema.get("required")) if isinstance(name, str)]
    absent = (name for name in required if name not in given)
    return next((name for name in absent if "default" not in _schema(about.get(name))), "")


def misfitting_field(
    schema: Mapping[str, Any], known: Mapping[str, Any], *, strict: bool
) -> tuple[str, str]:
    """A field whose value is not of a type that the schema names, and these types.

    Args:
        schema: JSON Schema of the input, which has plain fields.
        known: Values of fields, in plain types.
        strict: Whether a value has to be of a type already. Otherwise, libraries may make it one:
            they read numbers and truth values from text, and lists and objects from JSON.

    Returns:
        The name and the types; two empty texts if there is none.
    """
    about, search = _mapping(schema.get("properties")), _Search(schema, "")
    fits = _has_type if strict else _may_become
    for name, value in known.items():
        kinds = search.accepted(_schema(about.get(name)))
        if kinds and not any(fits(value, one) for one in kinds):
            return name, _listed(kinds)
    return "", ""


class _Search:
    """The search in one input."""

    def __init__(self, root: Mapping[str, Any], own: str) -> None:
        self._root = root
        self._own = own
        #: Results by the identities of an object and its schemas.
        self._found: dict[tuple[int, tuple[int, ...]], str] = {}

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
        # Parts that alternatives share would be searched once for each of them, at each level.
        key = id(given), tuple(map(id, schemas))
        if (known := self._found.get(key)) is not None:
            return known
        found = self._object(given, schemas, path)
        variants = self._variants(schemas[0]) if len(schemas) == 1 and not found else []
        most = -1
        for one in variants:
            if not self._may_be(given, one):
                continue
            fault = self._object(given, [one], path)
            if not fault:
                found = ""
                break
            if (shared := len(given.keys() & _mapping(one.get("properties")).keys())) > most:
                most, found = shared, fault
        self._found[key] = found
        return found

    def _variants(self, schema: Mapping[str, Any]) -> _Schemas:
        """The objects of which a schema describes one; empty if it says more, or less."""
        found, waiting, steps = _Schemas(), [schema], 0
        while waiting and (steps := steps + 1) <= _BRANCHES:
            one = self._resolved(waiting.pop())
            if one.get("type") == "object":
                found.append(one)
            elif not _BESIDE.isdisjoint(one):
                if "type" not in one or "object" in _list(one["type"]):
                    return []
            else:
                items = [item for key in _ALTERNATIVE for item in _list(one.get(key))]
                if not items and "const" not in one and "enum" not in one:
                    return []  # it takes anything
                waiting += map(_schema, reversed(items))
        return found if len(found) > 1 and not waiting else []

    def _may_be(self, given: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
        """Whether an object may be valid by a schema; what validates it would take no other."""
        if any(str(name) not in given for name in _list(schema.get("required"))):
            return False
        about = _mapping(schema.get("properties"))
        return self._fits(schema, given) and all(
            _may_have_type(item, self._resolved(_schema(about.get(name))))
            for name, item in given.items()
        )

    def accepted(self, schema: Mapping[str, Any]) -> _Schemas | None:
        """The plain types that a schema is one of; `None` if it says more, or anything else."""
        found: _Schemas = []
        waiting = [schema]
        for one in waiting:
            one = self._resolved(one)
            parts = [item for key in _ALTERNATIVE for item in _list(one.get(key))]
            if len(waiting) > _BRANCHES or (parts and not _BESIDE.isdisjoint(one)):
                return None
            waiting += map(_schema, parts)
            if not parts:
                kinds = one["type"] if isinstance(one.get("type"), list) else [one.get("type")]
                if not all(isinstance(kind, str) for kind in kinds) and "enum" not in one:
                    return None
                found += [{**one, "type": kind} for kind in kinds]
        return found

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema that a reference names, through several of them."""
        for _ in range(_BRANCHES):
            if "$ref" not in schema or not _BESIDE.isdisjoint(schema):
                break
            schema = _schema(self._target(schema["$ref"]))
        return schema

    def _object(self, given: Mapping[str, Any], schemas: _Schemas, path: str) -> str:
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
                listed = "" if path else self._own
                # Alternatives and references have fields that the list does not have.
                named = _mapping(self._root.get("properties")) if listed else {}
                names = [name for name in known if name not in named]
                shown = [listed] * bool(listed) + names[:_SHOWN] + ["…"] * (len(names) > _SHOWN)
                owner = f"the fields of {path[:_SHOWN_CHARS]}" if path else "its fields"
                return f"has no field {_shown(place)}; {owner} are: {', '.join(shown)}"
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


def _may_have_type(given: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value can be made one of the type that a schema names, as libraries convert it."""
    kind = schema.get("type")
    if not isinstance(kind, str):
        return True
    if isinstance(given, Mapping):
        return kind == "object"
    if kind in ("array", "object"):
        return kind == "array" and isinstance(given, Sequence) and not isinstance(given, str)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return False
    if kind == "null" or given is None:
        return kind == "null" and given is None
    if kind == "string":
        return isinstance(given, str) or "format" in schema
    if not isinstance(given, str):
        return True
    return given.strip().lower() in _TRUTHS if kind == "boolean" else _is_number(given)


def _has_type(given: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is of a plain type, and one of the values that the schema allows."""
    kind = schema.get("type")
    if isinstance(schema.get("enum"), list) and given not in schema["enum"]:
        return False
    if kind == "null" or given is None:
        return given is None and kind in ("null", None)
    if isinstance(given, bool) or kind == "boolean":
        return isinstance(given, bool) and kind in ("boolean", None)
    if kind == "integer" and isinstance(given, float):
        return given.is_integer()
    types = _TYPES.get(kind) if isinstance(kind, str) else None
    return types is None or isinstance(given, types)


def _may_become(given: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a library could make a value of a plain type of what is given.

    Nothing is said of `null`, which many take for a field that is left out.
    """
    kind, allowed = schema.get("type"), _list(schema.get("enum"))
    if given is None or (kind is not None and kind not in _KINDS):
        return True
    if isinstance(given, str):
        if allowed and all(isinstance(one, str) for one in allowed):
            return given.strip().casefold() in {one.strip().casefold() for one in allowed}
        if kind in ("integer", "number") and not allowed and "format" not in schema:
            return _is_number(given) or any(char.isdecimal() for char in given)
        words = {"boolean": _TRUTHS, "null": _NOTHING}.get(str(kind))
        return words is None or given.strip().lower() in words
    if isinstance(given, Mapping):
        return kind in ("object", None)
    if isinstance(given, list):
        return kind in ("array", None)
    return kind not in ("array", "object", "null")


def _listed(kinds: _Schemas) -> str:
    """What a field takes, in the words of JSON Schema."""
    words: list[str] = []
    for one in kinds:
        allowed = _list(one.get("enum"))[:_SHOWN]
        words += [json.dumps(item) for item in allowed] or [str(one.get("type"))]
    return " or ".join(dict.fromkeys(words))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
    return _ANY if "patternProperties" in schema else _schema(schema.get("additionalProperties"))


def _items(branches: _Schemas, at: int) -> Iterator[Mapping[str, Any]]:
    for branch in branches:
        first = _list(branch.get("prefixItems"))
        if at < len(first):
            yield _schema(first[at])
        elif "items" in branch:
            yield _schema(branch["items"])


def _schema(given: Any) -> Mapping[str, Any]:
    """A schema as an object: `true` takes everything, and so does what is none."""
    return given if isinstance(given, Mapping) else _ANY


def _mapping(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []


def _shown(name: Any) -> str:
    return repr(str(name)[:_SHOWN_CHARS])
