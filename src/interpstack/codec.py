"""The JSON form of protocol values: one rule writes all of them and reads them strictly.

| A value of | is in JSON | for example |
|---|---|---|
| a class with positional fields | an array, in the order of the fields | `[1, "a.b", 5, true]` |
| a class with keyword-only fields | an object | `{"source": "1 + 1", "name": "cell", …}` |
| `bytes` | base64 | `"AAEC"` |
| `Any` | itself: a tree that JSON can hold | `{"$": "undefined"}` |

The types of the fields say what is read. A field that is `LATER` than the stored forms of its class
is written only where its value is not the default, and may be missing; every other field must be
there, and no other may.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

from interpstack.checks import shown
from interpstack.errors import InterpstackError, ProtocolError

__all__ = ["LATER", "from_json", "to_json"]

_T = TypeVar("_T")

#: Metadata of a field that its class got when values of it were stored already.
LATER: Final[Mapping[str, bool]] = {"later": True}
#: Containers inside containers of a tree: values have 200 levels, of up to three each.
_DEPTH: Final = 640


def to_json(value: Any, kind: type | None = None) -> Any:
    """The JSON form of a protocol value.

    Args:
        value: An instance of an attrs class.
        kind: The class whose fields are written; the value's own if left out.
    """
    return _form(kind or type(value)).write(value)


def from_json(kind: type[_T], data: Any) -> _T:
    """Read a protocol value.

    Args:
        kind: The class of the value.
        data: What `json.loads` gave, from whomever it came.

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

    @classmethod
    def found(cls, accepted: str, data: Any) -> _Wrong:
        return cls(f"takes {accepted}; got {shown(data)}")

    def inside(self, step: str) -> _Wrong:
        self.path.insert(0, step)
        return self


@attrs.frozen
class _Form:
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _itself(value: Any) -> Any:
    return value


def _form(hint: Any) -> _Form:
    """How values of a type are written and read."""
    form = _forms.get(hint)
    if form is None:
        form = _forms[hint] = _new_form(hint)
    return form


def _new_form(hint: Any) -> _Form:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (kind,) = (one for one in inner if one is not NoneType)
        return _optional(_form(kind))
    if origin is tuple and inner[-1] is not ...:
        return _row([_form(one) for one in inner])
    if origin in (tuple, Sequence):
        return _items(_form(inner[0]))
    if origin in (dict, Mapping) and inner[0] is str:
        return _entries(_form(inner[1]))
    if attrs.has(hint):
        return _fields(hint)
    raise TypeError(f"a field of type {hint!r} has no JSON form")


# -- single values -------------------------------------------------------------------------


def _exactly(kind: type, accepted: str) -> _Form:
    def read(data: Any) -> Any:
        if type(data) is not kind:
            raise _Wrong.found(accepted, data)
        return data

    return _Form(_itself, read)


def _read_number(data: Any) -> float:
    try:
        if type(data) in (int, float) and math.isfinite(data):
            return float(data)
    except OverflowError:
        pass  # a whole number that no float can hold
    raise _Wrong.found("a finite number", data)


def _write_bytes(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _read_bytes(data: Any) -> bytes:
    try:
        if type(data) is str:
            return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise _Wrong.found("base64", data)


def _read_tree(data: Any) -> Any:
    """A tree, unless it is too deep for what goes through it by recursion."""
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


#: Forms by type: those of single values, and all that were asked for.
_forms: Final[dict[Any, _Form]] = {
    Any: _Form(_itself, _read_tree),
    str: _exactly(str, "a string"),
    int: _exactly(int, "a whole number"),
    bool: _exactly(bool, "true or false"),
    float: _Form(_itself, _read_number),
    bytes: _Form(_write_bytes, _read_bytes),
}


# -- containers ----------------------------------------------------------------------------


def _optional(form: _Form) -> _Form:
    write, read = form.write, form.read
    return _Form(
        lambda value: None if value is None else write(value),
        lambda data: None if data is None else read(data),
    )


def _array(data: Any) -> Sequence[Any]:
    # Some stores give tuples back where lists went in, or the other way round.
    if type(data) is not list and type(data) is not tuple:
        raise _Wrong.found("an array", data)
    return data


def _items(form: _Form) -> _Form:
    def read(data: Any) -> tuple[Any, ...]:
        read_ = []
        for index, item in enumerate(_array(data)):
            try:
                read_.append(form.read(item))
            except _Wrong as wrong:
                raise wrong.inside(str(index)) from None
        return tuple(read_)

    return _Form(lambda value: [form.write(item) for item in value], read)


def _row(forms: list[_Form]) -> _Form:
    def read(data: Any) -> tuple[Any, ...]:
        if len(_array(data)) != len(forms):
            raise _Wrong(f"takes {len(forms)} items; got {len(data)}")
        return tuple(form.read(item) for form, item in zip(forms, data, strict=True))

    return _Form(
        lambda value: [form.write(item) for form, item in zip(forms, value, strict=True)], read
    )


def _entries(form: _Form) -> _Form:
    def read(data: Any) -> dict[str, Any]:
        if type(data) is not dict:
            raise _Wrong.found("an object", data)
        entries = {}
        for key, item in data.items():
            if type(key) is not str:
                raise _Wrong.found("keys that are strings", key)
            try:
                entries[key] = form.read(item)
            except _Wrong as wrong:
                raise wrong.inside(key[:40]) from None
        return entries

    return _Form(lambda value: {key: form.write(item) for key, item in value.items()}, read)


# -- classes -------------------------------------------------------------------------------


@attrs.frozen
class _Field:
    name: str
    form: _Form
    later: bool
    default: Any


def _fields(kind: type) -> _Form:
    hints = get_type_hints(kind)
    found = [field for field in attrs.fields(kind) if field.init]
    fields = [
        _Field(f.name, _form(hints[f.name]), f.metadata.get("later", False), f.default)
        for f in found
    ]
    return (_object if all(f.kw_only for f in found) else _positional)(kind, fields)


def _positional(kind: type, fields: list[_Field]) -> _Form:
    least = sum(not field.later for field in fields)

    def write(value: Any) -> list[Any]:
        data = [field.form.write(getattr(value, field.name)) for field in fields]
        while len(data) > least and getattr(value, fields[len(data) - 1].name) == (
            fields[len(data) - 1].default
        ):
            data.pop()
        return data

    def read(data: Any) -> Any:
        count = len(_array(data))
        if count < least:
            raise _Wrong("is missing", fields[count].name)
        if count > len(fields):
            raise _Wrong(f"takes {len(fields)} items at most; got {count}")
        return _made(kind, {f.name: (f.form, item) for f, item in zip(fields, data, strict=False)})

    return _Form(write, read)


def _object(kind: type, fields: list[_Field]) -> _Form:
    known = {field.name: field for field in fields}

    def write(value: Any) -> dict[str, Any]:
        told = [(field, getattr(value, field.name)) for field in fields]
        return {f.name: f.form.write(v) for f, v in told if not (f.later and v == f.default)}

    def read(data: Any) -> Any:
        if type(data) is not dict:
            raise _Wrong.found("an object", data)
        for name in data:
            if name not in known:
                raise _Wrong("is not a field", name[:40] if type(name) is str else shown(name))
        for field in fields:
            if field.name not in data and not field.later:
                raise _Wrong("is missing", field.name)
        return _made(kind, {name: (known[name].form, item) for name, item in data.items()})

    return _Form(write, read)


def _made(kind: type, told: Mapping[str, tuple[_Form, Any]]) -> Any:
    values = {}
    for name, (form, item) in told.items():
        try:
            values[name] = form.read(item)
        except _Wrong as wrong:
            raise wrong.inside(name) from None
    try:
        return kind(**values)
    except InterpstackError as error:  # a field of the right type with a value out of bounds
        raise _Wrong(str(error)) from error
