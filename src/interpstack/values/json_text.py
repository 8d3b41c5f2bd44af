"""JSON text of guests, read so that other threads of the process go on meanwhile.

`json.loads` lets no other thread run before it ends, so a text with some hundred thousand parts
stops an event loop, in whatever thread it is read. Long texts are read in pieces instead.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import attrs

__all__ = ["read_json"]

#: Characters that are read at once; a piece has up to twice as many, and whole strings.
_PIECE_CHARS: Final = 2**16
#: Containers inside containers: values have 200 levels, of up to three each.
_DEPTH: Final = 1000
#: The brackets of one more level are taken out of a text this often, to find out if it is deep.
_ROUNDS: Final = 8
#: From Python 3.12 on, `json` reads 10,000 levels; code that walks through a value cannot.
_READS_DEEP: Final = sys.version_info >= (3, 12)
_SPACE: Final = " \t\n\r"
_CLOSING: Final = {"[": "]", "{": "}"}
#: All bytes but brackets and quotes.
_FLAT: Final = bytes({*range(256)} - {*b'[]{}"'})

_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
#: A container without others inside, as a row; and one of these, as a list of rows.
_ROW: Final = rf'[\[{{](?:[^"\[\]{{}}]++|{_STRING})*+[\]}}]'
_ROWS: Final = rf'[\[{{](?:[^"\[\]{{}}]++|{_STRING}|{_ROW})*+[\]}}]'
_PARTS: Final = rf'(?:[^"\[\]{{}},]++|{_STRING}|{_ROWS})*+'
#: Complete items, up to the last comma; and what may follow up to a comma or bracket.
_ITEMS: Final = rf"(?:{_PARTS},)++"
#: A string up to its end or some thousand escapes.
_IN_STRING: Final = r'[^"\\]*+(?:\\.[^"\\]*+){0,5000}+(")?'


@cache
def _matching(pattern: str) -> Callable[..., re.Match[str] | None]:
    """The function `match` of a pattern; only long texts need it."""
    return re.compile(pattern, re.DOTALL).match


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


# `json.loads` with options makes a decoder each time, which takes longer than most texts.
_decode: Final = json.JSONDecoder(parse_constant=_refused).decode


def read_json(text: str) -> Any:
    """The value of a JSON text; `NaN` and `Infinity` are refused.

    Raises:
        ValueError: The text is not JSON.
        RecursionError: It has more than some 1,000 containers inside each other.
    """
    if len(text) > 2 * _PIECE_CHARS or (_READS_DEEP and _may_be_deep(text)):
        return _Reader(text).read()
    return _decode(text)


def _may_be_deep(text: str) -> bool:
    """Whether a text may have more than `_DEPTH` containers inside each other."""
    if text.count("[") + text.count("{") <= _DEPTH:
        return False
    if "\\" in text:
        text = text.replace("\\\\", "").replace('\\"', "")
    left = text.encode("ascii", "replace").translate(None, _FLAT).replace(b'""', b"")
    for removed in range(0, 2 * _ROUNDS, 2):
        if left.count(b"[") + left.count(b"{") + removed <= _DEPTH:
            return False
        left = left.replace(b"[]", b"").replace(b"{}", b"")
    return True


@attrs.define(eq=False, repr=False)
class _Container:
    """A container whose end was not reached.

    Attributes:
        text: The whole text.
        starts: The offset of its bracket.
        made: The items that were read; `None` before the first.
        more: Whether a comma was read last, which another item must follow.
        inner: Whether another container was read last, which only a comma or the end may follow.
    """

    text: str
    starts: int
    made: Any = None
    more: bool = False
    inner: bool = False
    _read: int = attrs.field(init=False)  # the offset up to which it was read
    _key: str = ""  # of the container that is read now

    def __attrs_post_init__(self) -> None:
        self._read = self.starts + 1

    @property
    def closing(self) -> str:
        """The bracket that ends it."""
        return _CLOSING[self.text[self.starts]]

    def unread(self, end: int) -> int:
        """The number of characters up to an offset that were not read."""
        return end - self._read

    def read(self, end: int, *, ends: bool) -> None:
        """Read the items up to an offset, where the container `ends` or a comma stands."""
        items = self._items(end)
        if not self.inner and not self._add(_decode, items) and (self.more or not ends):
            raise ValueError(f"no value before {end}")
        self._read, self.more, self.inner = end + 1, True, False

    def read_before(self, end: int) -> None:
        """Read the items up to an offset, where another container starts."""
        items = self._items(end)
        if self.inner:
            raise ValueError(f"no comma before {end}")
        # With a string in place of the container that starts here, this must be JSON, too.
        decode = json.JSONDecoder(parse_constant=_refused, object_pairs_hook=self._pairs).decode
        if type(self._add(decode, f'{items}""')) is list:
            self.made.pop()

    def put(self, value: Any, end: int) -> None:
        """Add a container that was read up to an offset."""
        if type(self.made) is list:
            self.made.append(value)
        else:
            self.made[self._key] = value
        self._read, self.more, self.inner = end, False, True

    def _items(self, end: int) -> str:
        """The text of items that were not read, without a comma before them."""
        items = self.text[self._read : end]
        if not self.inner or not (items := items.lstrip(_SPACE)):
            return items
        if items[0] != ",":
            raise ValueError(f"no comma at {self._read}")
        self.more, self.inner = True, False
        return items[1:]

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if pairs:
            self._key = pairs[-1][0]  # in the end, that of the outermost object
        return dict(pairs)

    def _add(self, decode: Callable[[str], Any], items: str) -> Any:
        """Read some items; returns them."""
        made = decode(f"{self.text[self.starts]}{items}{self.closing}")
        if self.made is None:
            self.made = made
        elif type(made) is list:
            self.made += made
        else:
            self.made.update(made)
        return made


class _Reader:
    """Reads one text: long containers item by item, and everything else in pieces.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._open: list[_Container] = []
        self._begun = 0  # outermost containers of which something was read

    def read(self) -> Any:
        """The value.

        Raises:
            ValueError: The text is not JSON.
            RecursionError: It is nested too deep.
        """
        text, at = self._text, 0
        while at < len(text):
            if (items := _matching(_ITEMS)(text, at, at + _PIECE_CHARS)) is not None:
                at = items.end()
                self._end_item(at)
            at = _matching(_PARTS)(text, at, at + _PIECE_CHARS).end()  # type: ignore[union-attr]
            mark = text[at : at + 1]
            if mark == '"':
                at = self._end_of_string(at + 1)
            elif mark in _CLOSING:
                at += 1
                self._enter(at)
            elif mark == ",":
                at += 1
                self._end_item(at)
            elif mark in ("]", "}"):
                at += 1
                if (closed := self._leave(at)) is not None and not self._open:
                    if text[at:].strip(_SPACE):
                        raise ValueError(f"more than one value, from {at} on")
                    return closed.made
        return _decode(text)  # not a container, or not JSON

    def _end_of_string(self, at: int) -> int:
        end = self._text.find('"', at)
        if end >= 0 and self._text.find("\\", at, end) < 0:
            return end + 1
        while (found := _matching(_IN_STRING)(self._text, at)) is not None and found[0]:
            at = found.end()
            if found[1]:
                return at
        raise ValueError("a string has no end")

    def _enter(self, at: int) -> None:
        if len(self._open) == _DEPTH:
            raise RecursionError(f"more than {_DEPTH} containers inside each other")
        if not self._open and self._text[: at - 1].strip(_SPACE):
            raise ValueError("no value at the start")
        self._open.append(_Container(self._text, at - 1))

    def _end_item(self, at: int) -> None:
        last = self._last()
        if last.inner or last.unread(at) > _PIECE_CHARS:
            self._read_around()
            last.read(at - 1, ends=False)

    def _leave(self, at: int) -> _Container | None:
        """End the innermost container; returns it if it was read, and its outer one has it."""
        last = self._last()
        if last.closing != self._text[at - 1]:
            raise ValueError(f"the wrong bracket at {at - 1}")
        if last.made is None and at - last.starts <= _PIECE_CHARS and len(self._open) > 1:
            self._open.pop()
            return None
        self._read_around()
        last.read(at - 1, ends=True)
        self._open.pop()
        self._begun = len(self._open)
        if self._open:
            self._open[-1].put(last.made, at)
        return last

    def _last(self) -> _Container:
        if not self._open:
            raise ValueError("a comma or bracket outside of all containers")
        return self._open[-1]

    def _read_around(self) -> None:
        """Read the containers around the innermost one up to its start."""
        for at in range(max(0, self._begun - 1), len(self._open) - 1):
            self._open[at].read_before(self._open[at + 1].starts)
        self._begun = len(self._open)
