"""Checks a guest's input object against a function's annotations.

Plain types are checked here, and dataclasses, attrs classes and models of pydantic are built. Any
other annotation accepts every value; bridges with such input validate it themselves
(`Bridge(raw=True)`).
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import typing
from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NoReturn, Union, get_args, get_origin
from uuid import UUID

import attrs

from interpstack.checks import Value, shown
from interpstack.contracts.errors import BridgeError
from interpstack.contracts.languages import GuestLanguage
from interpstack.values.decoding import UNDEFINED, MapValue, SetValue
from interpstack.values.json_equality import same_json
from interpstack.values.known_parts import UNKNOWN, OpenFields, known_fields
from interpstack.values.models import (
    constrained,
    dropped,
    faults,
    fields_of,
    native,
    unknown_field,
    validator_of,
)

__all__ = ["Signature"]

#: Fields of one call: while Python binds them, no other thread runs.
_FIELDS: Final = 10_000
#: What a bridge may return as text, it takes as text, too.
_TEXTS: Final = (datetime, date, time, timedelta, UUID, Decimal, Path, PurePath)
#: A duration in ISO 8601.
_DURATION: Final = re.compile(
    r"(-?)P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,12})(?:\.(\d{1,9}))?S)?)?"
)
_SCALARS: Final = (str, bool, int, float, bytes, NoneType, *_TEXTS)
_CONTAINERS: Final[Mapping[Any, type]] = {
    **dict.fromkeys((list, Sequence, tuple), list),
    **dict.fromkeys((set, frozenset, Set), set),
    **dict.fromkeys((dict, Mapping, MutableMapping), dict),
}
#: Parts of an annotation that are looked at before a value is checked by it.
_PARTS: Final = 100
#: Fields whose kinds a message lists.
_LISTED: Final = 10
#: Alternatives of a union whose faults a message names.
_ALIKE: Final = 4
#: Keys of an object, which are text, that may stand for something else.
_SPELT: Final = r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,16})?|true|false|null"


class _Mismatch(Exception):
    """Raised for a wrong value; `Signature.bind` turns it into a `TypeError`."""


@attrs.frozen(eq=False, repr=False)
class Signature(Value):
    """The keyword parameters of one bridge."""

    name: str
    parameters: Mapping[str, tuple[Any, bool]]  #: annotation, and whether it is required
    more: Any  #: annotation of `**kwargs`; `None` without them
    skipped: bool  #: the function has the parameter that the host fills in
    answer: Any = Any  #: annotation of what is returned

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
            read = functools.partial(typing.get_type_hints, include_extras=True)
            hints = read(*_annotated(function)) if by_name else {}
        except Exception as error:
            raise BridgeError(f"bridge {name!r}: cannot read its signature: {error}") from error
        parameters: dict[str, tuple[Any, bool]] = {}
        more, skipped = None, False
        for one in signature.parameters.values():
            hint, optional = hints.get(one.name, Any), one.default is not one.empty
            if one.name == skip:
                skipped = True
            elif one.kind is one.VAR_KEYWORD and get_origin(hint) is typing.Unpack:
                parameters |= _fields_of(*get_args(hint))
            elif one.kind is one.VAR_KEYWORD:
                more = hint
            elif by_name and one.kind in (one.POSITIONAL_ONLY, one.VAR_POSITIONAL):
                raise BridgeError(f"bridge {name!r}: {one.name!r} cannot be passed by name")
            else:
                parameters[one.name] = (hint | None if one.default is None else hint, not optional)
        return cls(name, parameters, more, skipped, hints.get("return", Any))

    def bind(self, value: Any, language: GuestLanguage) -> dict[str, Any]:
        """Keyword arguments from a guest's input; `language` has the words for messages.

        Fields that are `undefined` are dropped, so that defaults apply.

        Raises:
            TypeError: Not an object, an unknown or missing field, or a field of a wrong type.
        """
        given = self._named(value, language)
        check, more = _Checker(language).check, (self.more, False)
        try:
            return {k: check(v, self.parameters.get(k, more)[0], k) for k, v in given.items()}
        except _Mismatch as error:
            raise TypeError(f"{self.name}: {error}") from None
        except RecursionError:
            raise TypeError(f"{self.name}: its input is nested too deep to be checked") from None

    def fault(self, value: Any, language: GuestLanguage) -> str:
        """Why `bind` cannot take an input, as far as it is known; empty if it may take it.

        No class of the host's is built, and no validator of the host's runs.

        Args:
            value: The input; see `Bridge.fault`.
            language: See `bind`.
        """
        if value is UNKNOWN:
            return ""
        try:
            given = known_fields(self._named(value, language))
            kinds = {key: _typed(kind) for key, (kind, _) in self.parameters.items()}
            for key in [key for key in given if key in kinds and _is_plain(kinds[key])]:
                _Checker(language).check(given[key], kinds[key], key)
        except TypeError as error:
            return str(error)
        except _Mismatch as error:
            return f"{self.name}: {error}"
        return ""

    def _named(self, value: Any, language: GuestLanguage) -> dict[str, Any]:
        """The fields of an input without those that are `undefined`; its names are right."""
        value = {} if value is None or value is UNDEFINED else value
        fields = {key: must for key, (_, must) in self.parameters.items()}
        usage = functools.partial(language.usage, self.name, fields)
        if not isinstance(value, dict):
            kinds = _kinds_of(self, language)
            raise TypeError(f"{self.name} takes {language.words.arguments}, as in {usage()}{kinds}")
        if len(value) > _FIELDS:
            raise TypeError(f"{self.name} takes at most {_FIELDS} fields; put them in one of them")
        given = {key: item for key, item in value.items() if item is not UNDEFINED}
        for key in [key for key in given if key not in fields and self.more is None]:
            text = f"{self.name} has no field {str(key)[:100]!r}; call it as {usage()}"
            raise TypeError(f"{text}{_kinds_of(self, language)}")
        is_open = isinstance(value, OpenFields)
        for key in [key for key, must in fields.items() if must and key not in given]:
            if is_open:
                break
            text = f"{self.name} needs the field {key!r}; call it as {usage()}"
            raise TypeError(f"{text}{_kinds_of(self, language)}")
        return given


def _kinds_of(signature: Signature, language: GuestLanguage) -> str:
    """The kinds of the fields, in the words of a language that has some."""
    if not language.kinds:
        return ""
    checker = _Checker(language)
    named = [
        f"{name} takes {checker.words(kind)}"
        for name, (kind, _) in list(signature.parameters.items())[:_LISTED]
        if kind is not Any
    ]
    return f"; {', '.join(named)}" if named else ""


def _annotated(function: Callable[..., Any]) -> tuple[Callable[..., Any], None, dict[str, Any]]:
    """Arguments for the hints of a wrapped, partial or callable object: function, scopes."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    function = function if inspect.isroutine(function) else type(function).__call__
    # Python 3.12.1 does not look for a function's type parameters itself.
    return function, None, {one.__name__: one for one in getattr(function, "__type_params__", ())}


@functools.cache
def _fields_of(typed_dict: Any) -> dict[str, tuple[Any, bool]]:
    """The fields of a `TypedDict`: annotation, and whether it is required."""
    fields = typing.get_type_hints(typed_dict, include_extras=True)
    must = typed_dict.__required_keys__  # wrong where annotations are text: these marks decide
    marks = {typing.Required: True, typing.NotRequired: False}
    return {k: (kind, marks.get(get_origin(kind), k in must)) for k, kind in fields.items()}


def _meant(annotation: Any) -> tuple[Any, Any]:
    """The annotation that an alias, a new type or a type variable stands for, and its origin."""
    base = get_origin(annotation) or annotation
    if isinstance(base, type):  # as most are
        return annotation, base
    if type(base).__name__ == "TypeAliasType":
        args = get_args(annotation)
        return _meant(base.__value__[args] if args else base.__value__)
    if isinstance(base, typing.NewType):
        return _meant(base.__supertype__)
    if isinstance(base, typing.TypeVar):
        return _meant(Union[base.__constraints__ or (base.__bound__ or Any)])  # noqa: UP007
    if base in (Annotated, typing.Required, typing.NotRequired):
        return _meant(get_args(annotation)[0])
    return (NoneType, NoneType) if base is None else (annotation, base)


def _choices(annotation: Any, base: Any, value: Any = None) -> Sequence[tuple[Any, Any]]:
    """The values of a `Literal` or an enum, each as guests write it and as the host does."""
    is_enum = isinstance(base, type) and issubclass(base, Enum)
    values = tuple(base) if is_enum else get_args(annotation) if base is Literal else ()
    if is_enum and issubclass(base, Flag) and type(value) is int:  # or a sum of flags
        values += (base(value & sum(one.value for one in values)),)
    return [(one.value if isinstance(one, Enum) else one, one) for one in values]


def _typed(annotation: Any) -> Any:
    """An annotation without its constraints, which are checked after the type."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _is_plain(annotation: Any) -> bool:
    """Whether no code of the host's takes part in the check of a value."""
    waiting = [annotation]
    for one in waiting:
        if get_origin(one) is Annotated and constrained(one):
            return False
        kind, base = _meant(one)
        if typing.is_typeddict(base) or _is_record(kind, base):
            return False
        if base is not Literal:
            waiting += [part for part in get_args(kind) if part is not ...]
        if len(waiting) > _PARTS:
            return False
    return True


def _is_record(annotation: Any, base: Any) -> bool:
    """Whether the values of an annotation are objects with fields of their own."""
    is_class = typing.is_typeddict(base) or validator_of(base) is not None
    return is_class or fields_of(annotation) is not None


def _is_alike(value: Any, kind: Any) -> bool:
    """Whether a value is a container as an annotation describes, so that a part of it is wrong."""
    annotation, base = _meant(kind)
    container = _CONTAINERS.get(base) if isinstance(base, Hashable) else None
    if isinstance(value, MapValue):
        return container is dict
    if isinstance(value, dict):
        return container is dict or _is_record(annotation, base)
    return isinstance(value, (list, SetValue)) and container in (list, set)


def _named(kind: Any) -> str:
    annotation, base = _meant(kind)
    return str(annotation) if get_args(annotation) else getattr(base, "__name__", str(base))


@attrs.define(eq=False, repr=False)
class _Checker:
    """Checks values; its messages are in the words of a guest language."""

    language: GuestLanguage

    def check(self, value: Any, annotation: Any, path: str) -> Any:
        """A value in the type of its annotation."""
        if type(value) is annotation:  # as most are
            return value
        if get_origin(annotation) is Annotated and (validate := constrained(annotation)):
            value = self.check(value, get_args(annotation)[0], path)
            return self._validated(value, validate, path)
        annotation, base = _meant(annotation)
        if base in (Union, UnionType):
            return self._first([(value, kind) for kind in get_args(annotation)], annotation, path)
        kind = _CONTAINERS.get(base, base) if isinstance(base, Hashable) else object
        if kind in (list, set, dict):
            return getattr(self, f"_{kind.__name__}")(value, annotation, path)
        if typing.is_typeddict(base):
            return self._typed_dict(value, base, path)
        if (validate := validator_of(base)) is not None:
            given = self._validated(value, native, path)
            made = self._validated(given, validate, path)
            if lost := dropped(given, made, path):
                raise _Mismatch(lost)
            return made
        if fields_of(annotation) is not None:
            return self._record(value, annotation, path)
        made, choices = value, _choices(annotation, base, value)
        if choices:
            is_bool = isinstance(value, bool)  # True is equal to 1
            same = (i for c, i in choices if c == value and isinstance(c, bool) is is_bool)
            made = next(same, UNDEFINED)
        elif kind in _SCALARS:
            made = _scalar(value, kind)
        return self._refuse(value, annotation, path) if made is UNDEFINED else made

    def _refuse(self, value: Any, accepted: Any, path: str, more: str = "") -> NoReturn:
        words = f"{self.words(accepted)}{more}"
        raise _Mismatch(f"field {path!r} takes {words}; got {shown(value, self.language.literal)}")

    def words(self, annotation: Any) -> str:
        """What values an annotation takes."""
        annotation, base = _meant(annotation)
        if base in (Union, UnionType):
            return " or ".join(dict.fromkeys(map(self.words, get_args(annotation))))
        if choices := _choices(annotation, base):
            text = f"one of {', '.join(self.language.literal(plain) for plain, _ in choices)}"
            return f"{text} or their sum" if isinstance(choices[0][1], Flag) else text
        kind = dict if _is_record(annotation, base) else _CONTAINERS.get(base, base)
        return self.language.kinds.get(kind, getattr(kind, "__name__", str(kind)))

    def _first(self, tries: Sequence[tuple[Any, Any]], accepted: Any, path: str) -> Any:
        """The first value in the type of its annotation."""
        near: list[tuple[Any, _Mismatch]] = []
        for value, kind in tries:
            try:
                return self.check(value, kind, path)
            except _Mismatch as error:
                if _is_alike(value, kind):
                    near.append((kind, error))
        if len(near) == 1:  # its error has the path to the fault
            raise near[0][1]
        if near:
            words = "; ".join(f"as {_named(kind)}, {error}" for kind, error in near[:_ALIKE])
            raise _Mismatch(words)
        return self._refuse(tries[0][0], accepted, path)

    def _list(self, value: Any, annotation: Any, path: str) -> Any:
        base, args = get_origin(annotation), get_args(annotation)
        value = self._items(value, annotation, path)
        if base is not tuple or args[-1:] == (...,):
            args = (*args, Any)[:1] * len(value)
        if len(value) != len(args):
            self._refuse(value, annotation, path, f" of {len(args)}")
        pairs = enumerate(zip(value, args, strict=True))
        items = [self.check(item, kind, f"{path}[{n}]") for n, (item, kind) in pairs]
        return tuple(items) if tuple in (base, annotation) else items

    def _items(self, value: Any, accepted: Any, path: str) -> Sequence[Any]:
        items = value.items if isinstance(value, SetValue) else value
        return items if isinstance(items, (list, tuple)) else self._refuse(value, accepted, path)

    def _set(self, value: Any, annotation: Any, path: str) -> Any:
        kind = (*get_args(annotation), Any)[0]
        made: dict[Any, Any] = {}
        for number, item in enumerate(self._items(value, annotation, path)):
            where = f"{path}[{number}]"
            own = self._key(item, kind, where)
            # The items of a guest's Set differ, and so do 1 and true in a list.
            if own in made and (isinstance(value, SetValue) or not same_json(own, made[own])):
                raise _Mismatch(f"field {path!r} takes each item once; got {where!r} again")
            made[own] = own
        return frozenset(made) if frozenset in (get_origin(annotation), annotation) else set(made)

    def _dict(self, value: Any, annotation: Any, path: str) -> Any:
        if not isinstance(value, (dict, MapValue)):
            self._refuse(value, annotation, path)
        key_kind, kind = get_args(annotation) or (Any, Any)
        made: dict[Any, Any] = {}
        for key, item in value.items() if isinstance(value, dict) else value.entries:
            step = key if isinstance(key, str) else shown(key, self.language.literal)
            where = f"{path}.{step:.100}"
            own = key if type(key) is key_kind is str else self._key(key, key_kind, where, True)
            if own in made:
                raise _Mismatch(f"field {path!r} takes each key once; got {where!r} again")
            made[own] = item if type(item) is kind else self.check(item, kind, where)
        return made

    def _key(self, key: Any, kind: Any, path: str, as_text: bool = False) -> Any:
        """A key, for which text may stand, or an item of a set: Python must be able to find it."""
        spelt = as_text and isinstance(key, str) and re.fullmatch(_SPELT, key)
        tries = (key, json.loads(key)) if spelt else (key,)
        key = self._first([(one, kind) for one in tries], kind, path)
        try:
            hash(key)
        except TypeError:
            self._refuse(key, str | float, path)
        return key

    def _typed_dict(self, value: Any, typed_dict: Any, path: str) -> Any:
        return self._fields(value, typed_dict, _fields_of(typed_dict), path)

    def _fields(
        self, value: Any, accepted: Any, fields: Mapping[str, tuple[Any, bool]], path: str
    ) -> dict[str, Any]:
        """The fields of an object, each in the type of its annotation."""
        if not isinstance(value, dict):
            self._refuse(value, accepted, path)
        given = {key: item for key, item in value.items() if item is not UNDEFINED}
        for key in given:
            if key not in fields:
                raise _Mismatch(unknown_field(f"{path}.{key!s:.100}", fields))
        for key in [key for key, (_, must) in fields.items() if must and key not in given]:
            self._refuse(value, accepted, path, f" with the field {key!r}")
        return {k: self.check(v, fields[k][0], f"{path}.{k}") for k, v in given.items()}

    def _record(self, value: Any, annotation: Any, path: str) -> Any:
        """An object of a dataclass, an attrs class or a named tuple."""
        fields = fields_of(annotation) or {}
        if isinstance(value, list) and issubclass(get_origin(annotation) or annotation, tuple):
            if len(value) > len(fields):
                self._refuse(value, annotation, path, f" of at most {len(fields)} fields")
            value = dict(zip(fields, value, strict=False))
        pairs = {name: (one.annotation, one.required) for name, one in fields.items()}
        made = self._fields(value, annotation, pairs, path)
        given = {fields[name].parameter: item for name, item in made.items()}
        return self._validated(given, lambda given: annotation(**given), path)

    def _validated(self, value: Any, validate: Callable[[Any], Any], path: str) -> Any:
        """What a validator or a constructor makes of a value, which may refuse it in any way."""
        try:
            return validate(value)
        except Exception as error:  # noqa: BLE001 - a validator may raise any exception
            raise _Mismatch(
                "; ".join(f"field {place!r}: {why}" for place, why in faults(error, path))
            ) from None


def _scalar(value: Any, kind: Any) -> Any:
    """A value as a scalar of this type; `UNDEFINED` if it is none."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        if isinstance(value, str) and kind is timedelta:
            return _duration(value)
        if isinstance(value, str) and kind in _TEXTS:
            return getattr(kind, "fromisoformat", kind)(value)
        if kind is int and isinstance(value, float) and value.is_integer():
            return int(value)
        if kind is Decimal and is_number:
            return Decimal(repr(value))
    except (ValueError, ArithmeticError):
        return UNDEFINED
    if kind is date and isinstance(value, datetime):
        return value.date()
    fits = is_number if kind is float else isinstance(value, kind)
    return value if fits and (is_number or kind is not int) else UNDEFINED


def _duration(text: str) -> Any:
    found = _DURATION.fullmatch(text)
    if found is None or text[-1] in "PT":
        return UNDEFINED
    sign, days, hours, minutes, seconds, fraction = found.groups()
    whole = [int(one or 0) for one in (days, hours, minutes, seconds)]
    microseconds = int((fraction or "").ljust(6, "0")[:6])
    made = timedelta(whole[0], whole[3], microseconds, 0, whole[2], whole[1])
    return -made if sign else made
