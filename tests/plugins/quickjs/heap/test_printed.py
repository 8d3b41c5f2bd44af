"""Console output, read from the memory of a guest."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import struct
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from interpstack import EngineFailure
from interpstack_quickjs.guest import Guest
from interpstack_quickjs.heap import printed
from interpstack_quickjs.heap.printed import Ear, find_printed, read_printed


@pytest.fixture
def guest() -> Iterator[Guest]:
    made = Guest(16 * 2**20)
    with made.runtime.ticker:
        yield made
    made.close()


_PRINTED = """
    globalThis.printed = Object.setPrototypeOf([], null);
    for (let i = 0; i < 35; i++) printed[i] = 1592590337 + i;
"""


def test_texts_are_found_in_memory(guest: Guest) -> None:
    """Output of a guest that was stopped in the middle is read from where it lies."""
    guest.evaluate(_PRINTED)
    address = find_printed(guest.heap())
    guest.evaluate(
        "printed[0] = 3; printed[1] = 4; printed[2] = 2; printed[3] = ''; printed[4] = printed[3] + ('\\n' + 'ab');"
        "printed[4] += '\\n' + 'c'.repeat(480); printed[5] = 'é€\\ud800'; printed[6] = 'end'"
    )
    text, omitted = read_printed(guest, address, 0)
    assert (text, omitted) == ("ab\n" + "c" * 480 + "é€\ud800end", 7)


def test_damaged_texts_are_left_out(guest: Guest) -> None:
    guest.evaluate(_PRINTED)
    address = find_printed(guest.heap())
    guest.evaluate(
        "printed[2] = 2; printed[3] = '\\n' + 'x'; printed[4] = 'y'.repeat(501); printed[5] = {};"
        "printed[6] = 'far away'; printed[7] = 'too long'; printed[8] = 'a part'; printed[9] = 'end'"
    )
    texts = [struct.unpack("<I", guest.read(address + 8 * i, 4))[0] for i in range(10)]
    for at, word in (
        (address + 8 * 6, 2**32 - 9),
        (texts[7] + 4, 2**31 - 1),
        (texts[8] + 8, 1 << 28),
    ):
        guest.write(word.to_bytes(4, "little"), at)
    assert read_printed(guest, address, 0)[0] == "xend"


def test_a_place_that_is_not_there_or_not_the_only_one_is_refused(guest: Guest) -> None:
    with pytest.raises(EngineFailure, match="no place"):
        find_printed(guest.heap())
    guest.evaluate(_PRINTED + _PRINTED.replace("printed", "again"))
    with pytest.raises(EngineFailure, match="no place"):
        find_printed(guest.heap())


class _Memory:
    """A guest whose memory lies in this process, and may have holes."""

    def __init__(self, data: bytes, missing: range = range(0)) -> None:
        self._data, self._missing = data, missing

    def read(self, address: int, length: int) -> bytes:
        if address in self._missing or address + length > len(self._data):
            raise EngineFailure("the guest named memory it does not have")
        return self._data[address : address + length]


def _list(*values: tuple[int, int]) -> bytes:
    """The list `printed`, its slots of integers and addresses."""
    return b"".join(
        struct.pack("<Ii", *value) for value in [*values, *[(0, 0)] * (35 - len(values))]
    )


def _stored(text: bytes, wide: int, kind: int = 0, length: int | None = None) -> bytes:
    size = len(text) >> wide if length is None else length
    return struct.pack("<4xII", size | wide << 31, kind << 28).ljust(28, b"\0") + text


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (_stored(b"\nab\xe9", 0), "abé"),
        (_stored("\né€".encode("utf-16-le"), 1), "é€"),
        (_stored(b"\nab", 0, kind=1), ""),
        (_stored(b"\n" + b"a" * 499, 0), "a" * 499),
        (_stored(b"\n" + b"a" * 500, 0), ""),
        (_stored(b"\nab", 0, length=400), ""),  # beyond the end of the memory
    ],
)
def test_one_text(stored: bytes, text: str) -> None:
    start = 35 * 8
    guest: Any = _Memory(_list((3, 0), (4, 0), (6, 0), (start, -7)) + stored)
    assert read_printed(guest, 0, 0) == (text, 7)


def test_output_that_the_host_has_is_not_read_again() -> None:
    guest: Any = _Memory(_list((3, 0), (4, 0), (7, 0), (35 * 8, -7)) + _stored(b"\nab", 0))
    assert read_printed(guest, 0, 7) == ("", 0)
    assert read_printed(guest, 0, 5) == ("ab", 7)


def test_who_listens_hears_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    texts = iter(["ab", "abc", "abc", "a", "abcd", "xy"])
    now = [0.0]
    monkeypatch.setattr(printed, "read_printed", lambda guest, address, taken: (next(texts), 0))
    monkeypatch.setattr(printed, "time", SimpleNamespace(monotonic=lambda: now[0]))
    ear, guest = Ear(heard.append, 0), cast("Any", None)
    ear.look(guest)
    now[0] = 0.04
    ear.look(guest)  # too soon: the memory is not read
    assert heard == ["ab"]
    for at in range(1, 5):
        now[0] = float(at)
        ear.look(guest)
    assert heard == ["ab", "c", "d"]
    ear.begin(0)
    now[0] = 9.0
    ear.look(guest)
    assert heard == ["ab", "c", "d", "xy"]
