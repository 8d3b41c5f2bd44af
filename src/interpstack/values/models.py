"""Classes with named fields, as parameters of bridges: how their objects are built from data.

pydantic is found by what its classes have, and is not imported: whoever annotates a parameter with
one of its models has imported it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, get_args, get_origin

import attrs

from interpstack.values.decoding import UNDEFINED, MapValue, SetValue

__all__ = [
    "Field",
    "constrained",
    "dropped",
    "faults",
    "fields_of",
    "has_read_keys",
    "native",
    "unknown_field",
    "validator_of",
]

#: Modules of the metadata that constrain an annotation, as in `Annotated[int, Field(gt=0)]`.
_CONSTRAINTS: Final = ("pydantic", "annotated_types")
#: Faults of one value that a message names.
_FAULTS: Final = 5
#: The way from an object to a value in it.
_Path = tuple[str | int, ...]


@attrs.frozen(eq=False, repr=False)
class Field:
    """A field of a class: its annotation, its parameter, and whether it must be given."""

    annotation: Any
    parameter: str
    required: bool


def fields_of(annotation: Any) -> Mapping[str, Field] | None:
    """The fields of a dataclass, an attrs class or a named tuple; `None` for any other annotation.

    Args:
        annotation: The class, or a generic one with its arguments.
    """
    base = get_origin(annotation) or annotation
    if not isinstance(base, type) or not (
        attrs.has(base)
        or dataclasses.is_dataclass(base)
        or (issubclass(base, tuple) and hasattr(base, "_fields"))
    ):
        return None
    fields = _own_fields(base)
    meant = dict(zip(getattr(base, "__parameters__", ()), get_args(annotation), strict=False))
    if not meant:
        return fields
    return {
        name: attrs.evolve(one, annotation=_with_arguments(one.annotation, meant))
        for name, one in fields.items()
    }


def _with_arguments(hint: Any, meant: Mapping[Any, Any]) -> Any:
    if isinstance(hint, typing.TypeVar):
        return meant.get(hint, hint)
    inner = getattr(hint, "__parameters__", ()) if get_origin(hint) is not None else ()
    return hint[tuple(meant.get(one, one) for one in inner)] if inner else hint


@functools.lru_cache(maxsize=1024)
def _own_fields(kind: type) -> Mapping[str, Field]:
    hints = _hints(kind)
    names = {one.alias: one for one in attrs.fields(kind)} if attrs.has(kind) else {}
    made: dict[str, Field] = {}
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            continue
        own = names.get(parameter.name)
        name = parameter.name if own is None else own.name
        hint = hints.get(name, Any)
        if own is not None and own.converter is not None:
            hint = parameter.annotation  # what the converter takes
            hint = Any if isinstance(hint, str) or hint is parameter.empty else hint
        if isinstance(hint, dataclasses.InitVar):
            hint = hint.type
        made[name] = Field(hint, parameter.name, parameter.default is parameter.empty)
    return made


def _hints(kind: type) -> Mapping[str, Any]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except Exception as error:  # noqa: BLE001 - an annotation may be any expression
        raise TypeError(f"the annotations of {kind.__qualname__} cannot be read: {error}") from None


# -- pydantic ------------------------------------------------------------------------------


def validator_of(kind: Any) -> Callable[[Any], Any] | None:
    """The function that validates data for a class of pydantic; `None` for any other class."""
    if not isinstance(kind, type):
        return None
    validate = getattr(kind, "model_validate", None) or getattr(kind, "parse_obj", None)
    if callable(validate):
        return typing.cast("Callable[[Any], Any]", validate)
    own = getattr(kind, "__pydantic_validator__", None)  # of one of its dataclasses
    return None if own is None else typing.cast("Callable[[Any], Any]", own.validate_python)


def constrained(annotation: Any) -> Callable[[Any], Any] | None:
    """The function that applies pydantic's constraints on an annotation; `None` without any."""
    metadata = getattr(annotation, "__metadata__", ())
    if not any(type(one).__module__.partition(".")[0] in _CONSTRAINTS for one in metadata):
        return None
    pydantic = sys.modules.get("pydantic")
    if pydantic is None:
        return None
    return typing.cast("Callable[[Any], Any]", pydantic.TypeAdapter(annotation).validate_python)


def native(value: Any) -> Any:
    """A decoded value in the types of Python alone, as models take them."""
    if isinstance(value, dict):
        return {key: native(item) for key, item in value.items() if item is not UNDEFINED}
    if isinstance(value, MapValue):
        pairs = [(native(key), native(item)) for key, item in value.entries]
        try:
            made = dict(pairs)
        except TypeError:  # a key that Python cannot find
            return pairs
        if len(made) < len(pairs):
            raise ValueError("two of its keys are the same in Python, as 1 and true are")
        return made
    if isinstance(value, (list, SetValue)):
        return [native(item) for item in (value if isinstance(value, list) else value.items)]
    return None if value is UNDEFINED else value


def faults(error: Exception, path: str) -> list[tuple[str, str]]:
    """The paths and words of a validation error; of any other exception, its message."""
    listed: Any = getattr(error, "errors", None)
    found = listed() if callable(listed) else []
    if not found:
        return [(path, f"{error}" or type(error).__name__)]
    return [(_path(path, one["loc"]), str(one["msg"])) for one in found[:_FAULTS]]


def _path(path: str, steps: Iterable[Any]) -> str:
    return path + "".join(f"[{one}]" if isinstance(one, int) else f".{one!s:.100}" for one in steps)


def dropped(given: Any, made: Any, path: str, *, only_keys: bool = False) -> str | None:
    """What validation left out without a word: the words of a fault, or `None`.

    It reads keys of text as those that a dictionary is to have: of two keys that it reads alike,
    only the last value stays.

    A model whose author validates the data before their fields decides itself, and so does one
    whose author set `extra` about fields that the model does not have.

    Args:
        given: The data.
        made: What validation made of them.
        path: The path to the data; empty for data that have no name.
        only_keys: Look for keys that were read alike alone, and not for unknown fields.
    """
    if getattr(type(made), "__pydantic_root_model__", False):
        return dropped(given, made.root, path, only_keys=only_keys)
    if isinstance(given, list):
        if not isinstance(made, (list, tuple)) or len(given) != len(made):
            return None
        pairs = [
            (one, other, f"{path}[{at}]")
            for at, (one, other) in enumerate(zip(given, made, strict=True))
        ]
    elif not isinstance(given, dict):
        return None
    elif isinstance(made, dict):
        read = _read_keys(given, made)
        taken: set[Any] = set()
        for key, own in read.items():
            if own in taken:
                return f"field {path!r} takes each key once; got {_step(path, key)!r} again"
            taken.add(own)
        pairs = [(given[key], made[own], _step(path, key)) for key, own in read.items()]
    else:
        kind = type(made)
        spellings = _spellings(kind)
        if spellings is None:
            return None
        names = {path[0]: name for name, paths in spellings.items() for path in paths}
        if not (only_keys or _reads_early(kind)):
            fault = _misspelt(given, spellings, _extra(kind), path)
            if fault:
                return fault
        pairs = [
            (one, getattr(made, names[key], None), _step(path, key))
            for key, one in given.items()
            if key in names
        ]
    found = (dropped(one, other, place, only_keys=only_keys) for one, other, place in pairs)
    return next((one for one in found if one is not None), None)


def _step(path: str, key: Any) -> str:
    return f"{path}.{key!s:.100}".lstrip(".")


def _read_keys(given: Mapping[Any, Any], made: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The keys of data that are in a dictionary, with its own keys, as pydantic reads them."""
    adapter = getattr(sys.modules.get("pydantic"), "TypeAdapter", None)
    read: dict[Any, Any] = {}
    readers: list[Callable[[Any], Any]] | None = None
    for key in given:
        if key in made:
            read[key] = key
            continue
        if readers is None:
            kinds = () if adapter is None else {type(one) for one in made}
            readers = [reader for kind in kinds if (reader := _reader(adapter, kind)) is not None]
        for reader in readers:
            try:
                own = reader(key)
            except ValueError:
                continue
            if own in made:
                read[key] = own
                break
    return read


def _reader(adapter: Any, kind: type) -> Callable[[Any], Any] | None:
    """The function that reads a key as one of a class; `None` for a class that pydantic lacks."""
    try:
        return typing.cast("Callable[[Any], Any]", adapter(kind).validate_python)
    except Exception:  # noqa: BLE001 - a class may raise anything when its schema is made
        return None


def has_read_keys(kind: Any) -> bool:
    """Whether a model of pydantic has a dictionary in it whose keys are read from text."""
    left, seen = [getattr(kind, "__pydantic_core_schema__", None)], set[int]()
    while left:
        part = left.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Mapping):
            if part.get("type") == "dict":
                keys = part.get("keys_schema")
                if isinstance(keys, Mapping) and keys.get("type") not in ("str", "any"):
                    return True
            left += part.values()
        elif isinstance(part, (list, tuple)):
            left += part
    return False


def unknown_field(place: str, fields: Iterable[str]) -> str:
    """The words about a field that an object does not have."""
    return f"there is no field {place!r}; its object has {', '.join(fields) or 'none'}"


def _misspelt(
    given: Mapping[str, Any], spellings: Mapping[str, Sequence[_Path]], extra: Any, path: str
) -> str:
    """A field that the model does not have, or has under two names; empty if there is none."""
    known = {spelt[0] for paths in spellings.values() for spelt in paths}
    for key in given:
        if key not in known and extra is None:
            return unknown_field(
                f"{path}.{key}", [str(paths[0][0]) for paths in spellings.values()]
            )
    for paths in spellings.values():
        found = dict.fromkeys(spelt[0] for spelt in paths if _has(given, spelt))
        if len(found) > 1 and extra != "allow":
            both = " and ".join(map(repr, found))
            return f"field {path!r} takes one of {both}, which are the same field; give one"
    return ""


def _has(given: Any, path: _Path) -> bool:
    """Whether data have a value at a path of names and numbers."""
    for step in path:
        try:
            given = given[step]
        except (LookupError, TypeError):
            return False
    return True


def _spellings(kind: type) -> Mapping[str, Sequence[_Path]] | None:
    """The places where data may have each field of a class; `None` without fields."""
    fields = getattr(kind, "model_fields", None) or getattr(kind, "__pydantic_fields__", None)
    if fields is None:
        known = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else None
        return None if known is None else {one.name: [(one.name,)] for one in known}
    config = _config(kind)
    by_alias = config.get("validate_by_alias") is not False
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    made: dict[str, Sequence[_Path]] = {}
    for name, about in fields.items():
        alias = about.alias if about.validation_alias is None else about.validation_alias
        choices = getattr(alias, "choices", (alias,)) if alias is not None and by_alias else ()
        paths = [tuple(getattr(one, "path", (one,))) for one in choices]
        made[name] = [*paths, (name,)] if by_name or not paths else paths
    return made


def _config(kind: type) -> Mapping[str, Any]:
    found = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", None)
    return found or {}


def _extra(kind: type) -> Any:
    """What the author of a model set for fields that the model does not have."""
    return _config(kind).get("extra")


def _reads_early(kind: type) -> bool:
    """Whether a model reads the data before their fields are validated."""
    rules = getattr(getattr(kind, "__pydantic_decorators__", None), "model_validators", {})
    return any(rule.info.mode in ("before", "wrap") for rule in rules.values())
