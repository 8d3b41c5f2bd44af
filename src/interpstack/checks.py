"""Checks of the host's arguments, with messages that name the accepted values; how values show."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from inspect import iscoroutinefunction
from itertools import islice
from typing import Any, Final

import attrs

from interpstack.contracts.errors import ConfigurationError

__all__ = [
    "Value",
    "expect",
    "is_async_function",
    "is_plain_function",
    "listed",
    "most_memory_bytes",
    "number_of",
    "positive",
    "repeated",
    "shown",
    "takes",
    "unique_fields",
]

#: The largest values: what every engine, timer and number of a guest can still hold.
_MOST: Final = 2**53
_MOST_SECONDS: Final = 10**9
#: Where the text of an object says where it is in memory, which differs from run to run.
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")


class Value:
    """A base of attrs classes that compares and shows their fields: to generate that takes long."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or _fields(self, "eq") == _fields(other, "eq")

    def __hash__(self) -> int:
        return hash(tuple(value for _, value in _fields(self, "hash")))

    def __repr__(self) -> str:
        shows = _fields(self, "repr")
        texts = [f"{a.name}={a.repr(v) if callable(a.repr) else repr(v)}" for a, v in shows]
        return f"{type(self).__name__}({', '.join(texts)})"


def _fields(value: Any, use: str) -> list[tuple[attrs.Attribute[Any], Any]]:
    """The fields that are used for `eq`, `hash` or `repr`; by default, `hash` is as `eq`."""
    uses = ((getattr(one, use), one) for one in attrs.fields(type(value)))
    return [(o, getattr(value, o.name)) for u, o in uses if (o.eq if u is None else u)]


def shown(value: Any, write: Callable[[Any], str] = repr) -> str:
    """A wrong value in short form, for messages; addresses of objects are left out."""
    try:
        text = _ADDRESS.sub("", write(value))
    except Exception:  # noqa: BLE001 - any class may say how its objects are shown
        # Python does not write whole numbers of very many digits, either.
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def number_of(count: int, what: str) -> str:
    """A number of things, for messages: `1 call`, `2 calls`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def listed(
    values: Collection[Any], most: int, write: Callable[[Any], str] = str, separator: str = ", "
) -> str:
    """The first of some values, for messages, and how many more there are: `a, b and 3 more`.

    Args:
        values: The values.
        most: The number of values to list.
        write: Returns the text of a value.
        separator: What stands between two of them; one other than `, ` stands before `and`, too.
    """
    rest = len(values) - most
    shows = separator.join(map(write, islice(values, most)))
    return shows if rest <= 0 else f"{shows}{separator.rstrip(', ')} and {rest} more"


def repeated(names: Iterable[str]) -> str | None:
    """The first name that stands among some names twice; `None` if each is there once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def unique_fields(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON; an `object_pairs_hook`.

    Raises:
        ConfigurationError: A field is there twice: `json.loads` alone keeps the last one.
    """
    pairs = list(pairs)
    twice = repeated(name for name, _ in pairs)
    if twice is not None:
        raise ConfigurationError(
            f"an object names the field {twice!r:.80} twice; give each field once"
        )
    return dict(pairs)


def most_memory_bytes() -> int:
    """Return the bytes of memory that this machine has; the bound of `Limits` if it is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # such as on Windows
        return _MOST


def expect(value: Any, kind: type | tuple[type, ...], accepted: str) -> None:
    """Refuse a value of another type.

    Raises:
        ConfigurationError: It is.
    """
    if not isinstance(value, kind):
        raise ConfigurationError(f"{accepted}; got {shown(value)}")


def is_async_function(value: Any) -> bool:
    """Return whether a value is an async function, or an object whose call is one."""
    return any(map(iscoroutinefunction, (value, getattr(type(value), "__call__", None))))  # noqa: B004


def is_plain_function(value: Any) -> bool:
    """Return whether a value can be called, and nobody has to await its answer."""
    return callable(value) and not is_async_function(value)


def takes(accepted: str, *kinds: type, fits: Any = None, of: Any, error: Any) -> Any:
    """A validator of an attribute; `accepted` describes its values, and `of(owner)` its owner."""

    def validate(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        good = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
        if not (good if fits is None else fits(value)):
            raise error(f"{of(instance)}: {attribute.name} takes {accepted}; got {shown(value)}")

    return validate


def positive(
    kind: type,
    least: int = 1,
    optional: bool = True,
    of: str = "limits",
    seconds: bool = False,
) -> Any:
    """A validator of whole numbers from `least`, or of any numbers above 0.

    Args:
        kind: `int` or `float`.
        least: The smallest whole number.
        optional: `None` is accepted, too.
        of: The owner of the value in messages; empty for an argument that is known by its name.
        seconds: The value is in seconds, as is one whose name says so.
    """

    def validate(instance: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value is None and optional:
            return
        most = _MOST_SECONDS if seconds or attribute.name.endswith("_seconds") else _MOST
        fits = isinstance(value, int if kind is int else (int, float))
        fits = fits and not isinstance(value, bool) and value <= most
        if fits and (value >= least if kind is int else value > 0):
            return
        whole = f"a whole number from {least} to {most}"
        accepted = whole if kind is int else f"a number above 0, at most {most}"
        also = ", or None for no limit" if optional else ""
        raise ConfigurationError(
            f"{of and of + ': '}{attribute.name} takes {accepted}{also}; got {shown(value)}"
        )

    return validate
