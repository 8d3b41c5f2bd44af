"""Checks a guest's input object against a function's annotations.

The core depends on no validation library, so this module covers the annotations of a bridge in
plain types: scalars, dates and times, `UUID`, `Decimal`, `None`, `Any`, unions, `Literal`, enums,
lists, tuples, dicts and `TypedDict`. Any other annotation accepts every value. Bridges with
richer input validate it themselves (`Bridge(raw=True)`) or use a library of their own.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin
from uuid import UUID

import attrs

from interpstack_core.checks import shown
from interpstack_core.errors import BridgeError
from interpstack_core.wire.values import UNDEFINED

__all__ = ["Signature"]

_SCALARS: dict[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a string"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    bytes: ((bytes,), "bytes"),
    datetime: ((datetime,), "a Date, or a date and time as text in ISO 8601"),
    date: ((date,), "a date as text in ISO 8601"),
    time: ((time,), "a time as text in ISO 8601"),
    UUID: ((UUID,), "a UUID as text"),
    Decimal: ((Decimal,), "a number, or a decimal number as text"),
    type(None): ((type(None),), "null"),
}

#: What a bridge may return as text, it takes as text, too.
_FROM_TEXT: dict[Any, Callable[[str], Any]] = {
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
    time: time.fromisoformat,
    UUID: UUID,
    Decimal: Decimal,
}


class _Mismatch(Exception):
    """Raised for a wrong value at `path`; `Signature.bind` turns it into a `TypeError`."""


@attrs.frozen
class Signature:
    """The keyword parameters of one bridge."""

    name: str
    parameters: Mapping[str, tuple[Any, bool]]  #: annotation, and whether it is required
    accepts_any: bool  #: the function has `**kwargs`
    skipped: bool  #: the function has the parameter that the host fills in

    @classmethod
    def of(
        cls, function: Callable[..., Any], name: str, skip: str, by_name: bool = True
    ) -> Signature:
        """Read a function's signature, leaving out the parameter named `skip`.

        Raises:
            BridgeError: A parameter cannot be passed by keyword, though `by_name` asks for it.
        """
        try:
            signature = inspect.signature(function)
            hints = typing.get_type_hints(_annotated(function))
        except (TypeError, ValueError, NameError) as error:
            raise BridgeError(f"bridge {name!r}: cannot read its signature: {error}") from error
        parameters: dict[str, tuple[Any, bool]] = {}
        accepts_any = skipped = False
        for parameter in signature.parameters.values():
            if parameter.name == skip:
                skipped = True
                continue
            unnamed = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
            if unnamed and by_name:
                raise BridgeError(
                    f"bridge {name!r}: parameter {parameter.name!r} cannot be passed by name; "
                    "guests pass one object of named fields"
                )
            if parameter.kind is parameter.VAR_KEYWORD:
                accepts_any = True
                continue
            required = parameter.default is parameter.empty
            parameters[parameter.name] = (hints.get(parameter.name, Any), required)
        return cls(name, parameters, accepts_any, skipped)

    def bind(self, value: Any) -> dict[str, Any]:
        """Keyword arguments from a guest's input.

        Fields that are `undefined` are dropped, so that defaults apply.

        Raises:
            TypeError: Not an object, an unknown or missing field, or a field of a wrong type.
        """
        if value is None or value is UNDEFINED:
            value = {}
        if not isinstance(value, dict):
            raise TypeError(f"{self.name} takes one object with the fields {self._fields()}")
        given = {key: item for key, item in value.items() if item is not UNDEFINED}
        unknown = [key for key in given if key not in self.parameters]
        if unknown and not self.accepts_any:
            raise TypeError(
                f"{self.name} has no field {str(unknown[0])[:100]!r}; it takes {self._fields()}"
            )
        missing = [key for key, (_, req) in self.parameters.items() if req and key not in given]
        if missing:
            raise TypeError(
                f"{self.name} needs the field {missing[0]!r}; it takes {self._fields()}"
            )
        return {key: self._field(key, item) for key, item in given.items()}

    def _field(self, key: str, item: Any) -> Any:
        if key not in self.parameters:
            return item
        try:
            return _check(item, self.parameters[key][0], key)
        except _Mismatch as error:
            raise TypeError(f"{self.name}: {error}") from None

    def _fields(self) -> str:
        listed = [key if req else f"{key}?" for key, (_, req) in self.parameters.items()]
        return "{" + ", ".join(listed) + "}"


def _annotated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that carries the annotations of a wrapped, partial or callable object."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    return function if inspect.isroutine(function) else type(function).__call__


def _check(value: Any, annotation: Any, path: str) -> Any:
    origin = get_origin(annotation)
    if annotation in _SCALARS:
        return _check_scalar(value, annotation, path)
    if origin in (Union, types.UnionType):
        return _check_union(value, annotation, path)
    if origin is Literal:
        return _expect(value in get_args(annotation), value, annotation, path)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        accepted = [member.value for member in annotation]
        _expect(value in accepted, value, f"one of {accepted}", path)
        return annotation(value)
    if typing.is_typeddict(annotation):
        return _check_typed_dict(value, annotation, path)
    base = origin or annotation
    if base in (list, Sequence, tuple, set):
        return _check_list(value, base, get_args(annotation), path)
    if base in (dict, Mapping):
        _expect(isinstance(value, dict), value, "an object", path)
        item = (get_args(annotation) or (Any, Any))[1]
        return {k: _check(v, item, f"{path}.{k}") for k, v in value.items()}
    return value


def _check_scalar(value: Any, annotation: Any, path: str) -> Any:
    if annotation in _FROM_TEXT:
        return _check_text(value, annotation, path)
    accepted, text = _SCALARS[annotation]
    is_bool = isinstance(value, bool)
    if annotation is int and isinstance(value, float) and value.is_integer():
        return int(value)
    _expect(isinstance(value, accepted) and is_bool == (annotation is bool), value, text, path)
    return value


def _check_text(value: Any, annotation: Any, path: str) -> Any:
    """A value that crosses as text, or as the guest's type for it: a Date, a number."""
    accepted, text = _SCALARS[annotation]
    if annotation is date and isinstance(value, datetime):
        return value.date()
    if annotation is Decimal and type(value) in (int, float):
        value = repr(value)
    try:
        value = _FROM_TEXT[annotation](value) if isinstance(value, str) else value
    except (ValueError, ArithmeticError):
        return _expect(False, value, text, path)
    return _expect(isinstance(value, accepted), value, text, path)


def _check_union(value: Any, annotation: Any, path: str) -> Any:
    for option in get_args(annotation):
        try:
            return _check(value, option, path)
        except _Mismatch:
            continue
    return _expect(False, value, annotation, path)


def _check_list(value: Any, base: Any, args: tuple[Any, ...], path: str) -> Any:
    _expect(isinstance(value, list), value, "an array", path)
    fixed = base is tuple and args and args[-1] is not Ellipsis
    if fixed:
        _expect(len(value) == len(args), value, f"an array of {len(args)}", path)
    kinds = args if fixed else (args[0] if args else Any,) * len(value)
    items = [
        _check(v, k, f"{path}[{i}]") for i, (v, k) in enumerate(zip(value, kinds, strict=True))
    ]
    return items if base in (list, Sequence) else base(items)


def _check_typed_dict(value: Any, annotation: Any, path: str) -> Any:
    _expect(isinstance(value, dict), value, "an object", path)
    hints = typing.get_type_hints(annotation)
    for key in annotation.__required_keys__:
        _expect(key in value, value, f"an object with the field {key!r}", path)
    return {k: _check(v, hints.get(k, Any), f"{path}.{k}") for k, v in value.items()}


def _expect(fits: bool, value: Any, accepted: Any, path: str) -> Any:
    if fits:
        return value
    if get_origin(accepted) is Literal:
        accepted = f"one of {list(get_args(accepted))}"
    elif not isinstance(accepted, str):
        accepted = " or ".join(_SCALARS.get(a, ((), str(a)))[1] for a in get_args(accepted))
    raise _Mismatch(f"field {path!r} takes {accepted}; got {shown(value)}")
