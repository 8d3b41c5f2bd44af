"""The JSON form of protocol values: one rule writes all of them and reads them strictly.

| A value of | is in JSON | for example |
|---|---|---|
| a class with positional fields | an array, in the order of the fields | `[1, "a.b", 5, true]` |
| a class with keyword-only fields | an object | `{"source": "1 + 1", "name": "cell", …}` |
| `bytes` | base64 | `"AAEC"` |
| `Any` | itself: a tree that JSON can hold | `{"$": "undefined"}` |

The types of the fields determine the form. A field whose metadata has `later` was added when values
of its class were stored already: it is written only where its value is not the default, and may be
missing. Every other field must be there, and no other may.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

from interpstack.checks import shown
from interpstack.contracts.errors import InterpstackError

__all__ = ["ProtocolError", "from_json", "to_json"]

_T = TypeVar("_T")

#: Containers inside containers of a tree: values have 200 levels, of up to three each.
_DEPTH: Final = 640


class ProtocolError(InterpstackError, ValueError):
    """Raised when data are not the JSON form of a protocol value.

    Attributes:
        field: The path of the field at fault, as in `Settlement.error.name`.
    """

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(f"{field} {problem}")


def to_json(value: Any, kind: type | None = None) -> Any:
    """The JSON form of a protocol value.

    Args:
        value: An instance of an attrs class.
        kind: The class whose fields are written; by default the value's own.
    """
    return _form(kind or type(value)).write(value)


def from_json(kind: type[_T], data: Any) -> _T:
    """Read a protocol value.

    Args:
        kind: The class of the value.
        data: A return value of `json.loads`, possibly untrusted.

    Raises:
        ProtocolError: The data are not the JSON form of such a value.
    """
    try:
        value: _T = _form(kind).read(data)
    except _Wrong as wrong:
        raise ProtocolError(".".join([kind.__name__, *wrong.path]), wrong.problem) from None
    return value


class _Wrong(Exception):
    """Something else than the form; each container adds its step to the path on the way out."""

    def __init__(self, problem: str, *path: str) -> None:
        self.problem = problem
        self.path = list(path)


def _other(accepted: str, data: Any) -> _Wrong:
    return _Wrong(f"takes {accepted}; got {shown(data)}")


def _as_it_is(value: Any) -> Any:
    return value


@attrs.frozen(repr=False)
class _ValueForm:
    read: Callable[[Any], Any]
    write: Callable[[Any], Any] = _as_it_is

    def read_at(self, step: str, data: Any) -> Any:
        try:
            return self.read(data)
        except _Wrong as wrong:
            wrong.path.insert(0, step)
            raise


def _form(hint: Any) -> _ValueForm:
    """The writer and the reader for values of a type."""
    form = _forms.get(hint)
    if form is None:
        form = _forms[hint] = _new_form(hint)
    return form


def _new_form(hint: Any) -> _ValueForm:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (kind,) = (one for one in inner if one is not NoneType)
        return _optional(_form(kind))
    if origin is Literal:
        return _exactly(str, f"one of {', '.join(inner)}", inner)
    if origin is tuple and inner[-1] is not ...:
        return _row([_form(one) for one in inner])
    if origin in (tuple, Sequence):
        return _items(_form(inner[0]))
    if origin in (dict, Mapping) and inner[0] is str:
        return _entries(_form(inner[1]))
    if attrs.has(hint):
        return _fields(hint)
    raise TypeError(f"a field of type {hint!r} has no JSON form")


def _exactly(kind: type, accepted: str, among: Sequence[Any] = ()) -> _ValueForm:
    def read(data: Any) -> Any:
        if type(data) is not kind or (among and data not in among):
            raise _other(accepted, data)
        return data

    return _ValueForm(read)


def _read_number(data: Any) -> float:
    with suppress(OverflowError):  # of a whole number that no float can hold
        if type(data) in (int, float) and math.isfinite(data):
            return float(data)
    raise _other("a finite number", data)


def _read_bytes(data: Any) -> bytes:
    with suppress(ValueError):
        if type(data) is str:
            return base64.b64decode(data, validate=True)
    raise _other("base64", data)


def _read_tree(data: Any) -> Any:
    """A tree, unless it is too deep for recursive code."""
    level = [data]
    for _ in range(_DEPTH):
        level = [
            item
            for outer in level
            if type(outer) is dict or type(outer) is list
            for item in (outer.values() if type(outer) is dict else outer)
        ]
        if not level:
            return data
    raise _Wrong(f"is nested deeper than {_DEPTH} levels")


#: Forms by type: forms of single values, and all requested ones.
_forms: Final[dict[Any, _ValueForm]] = {
    Any: _ValueForm(_read_tree),
    str: _exactly(str, "a string"),
    int: _exactly(int, "a whole number"),
    bool: _exactly(bool, "true or false"),
    float: _ValueForm(_read_number),
    bytes: _ValueForm(_read_bytes, lambda value: base64.b64encode(value).decode()),
}


def _array(data: Any) -> Sequence[Any]:
    # Some stores give tuples back where lists went in, or the other way round.
    if type(data) is not list and type(data) is not tuple:
        raise _other("an array", data)
    return data


def _object(data: Any) -> dict[str, Any]:
    if type(data) is not dict:
        raise _other("an object", data)
    for key in data:
        if type(key) is not str:
            raise _other("keys that are strings", key)
    return data


def _optional(form: _ValueForm) -> _ValueForm:
    def read(data: Any) -> Any:
        return None if data is None else form.read(data)

    if form.write is _as_it_is:
        return _ValueForm(read)
    return _ValueForm(read, lambda value: None if value is None else form.write(value))


def _items(form: _ValueForm) -> _ValueForm:
    def read(data: Any) -> tuple[Any, ...]:
        return tuple(form.read_at(str(at), item) for at, item in enumerate(_array(data)))

    return _ValueForm(read, lambda value: [form.write(item) for item in value])


def _row(forms: list[_ValueForm]) -> _ValueForm:
    def read(data: Any) -> tuple[Any, ...]:
        if len(_array(data)) != len(forms):
            raise _Wrong(f"takes {len(forms)} items; got {len(data)}")
        return tuple(form.read_at(str(at), data[at]) for at, form in enumerate(forms))

    return _ValueForm(
        read, lambda value: [f.write(item) for f, item in zip(forms, value, strict=True)]
    )


def _entries(form: _ValueForm) -> _ValueForm:
    def read(data: Any) -> dict[str, Any]:
        return {key: form.read_at(key[:40], item) for key, item in _object(data).items()}

    if form.write is _as_it_is:
        return _ValueForm(read, dict)
    return _ValueForm(read, lambda value: {key: form.write(item) for key, item in value.items()})


def _fields(kind: type) -> _ValueForm:
    """The form of a class: an object if all of its fields are keyword-only, else an array."""
    hints, fields = get_type_hints(kind), [f for f in attrs.fields(kind) if f.init]
    forms = {field.name: _form(hints[field.name]) for field in fields}
    later = {field.name: field.default for field in fields if "later" in field.metadata}
    named = all(field.kw_only for field in fields)
    written = {name: f.write for name, f in forms.items() if f.write is not _as_it_is}

    def write(value: Any) -> Any:
        plain = {name: getattr(value, name) for name in forms}
        for name, write_field in written.items():
            plain[name] = write_field(plain[name])
        for name in reversed(later):
            if getattr(value, name) != later[name]:
                break  # in an array, earlier fields need their places
            del plain[name]
        return plain if named else list(plain.values())

    def read(data: Any) -> Any:
        if not named and len(_array(data)) > len(forms):
            raise _Wrong(f"takes {len(forms)} items at most; got {len(data)}")
        plain = _object(data) if named else dict(zip(forms, data, strict=False))
        for name in plain.keys() - forms.keys():
            raise _Wrong("is not a field", name[:40])
        for name in forms:
            if name not in plain and name not in later:
                raise _Wrong("is missing", name)
        values = {name: forms[name].read_at(name, item) for name, item in plain.items()}
        try:
            return kind(**values)
        except InterpstackError as error:  # a field of the right type with a value out of bounds
            raise _Wrong(str(error)) from error

    return _ValueForm(read, write)
