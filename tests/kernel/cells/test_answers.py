"""What handlers return: plain data of bounded size, whatever they made it of."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import attrs
import pytest

from interpstack import (
    UNDEFINED,
    Bridge,
    ErrorValue,
    GuestLanguage,
    MapValue,
    Request,
    UnsupportedValue,
    bridge,
)
from interpstack.cells.answers import answer_text, arguments
from interpstack.values.decoding import decode

_MOST = 2**24
_CODE = GuestLanguage(name="code")
_TAKES_ANY = Bridge(name="any", handler=lambda value: value, raw=True)
_EAST = timezone(timedelta(hours=2))


class _Colour(Enum):
    RED = "red"


class _Holiday(Enum):
    MAY = date(2030, 5, 1)


@dataclasses.dataclass
class _Shift:
    begins: datetime
    colour: _Colour = _Colour.RED


@attrs.frozen
class _Place:
    city: str
    opened: date | None = None


class _Model:
    """Like one of pydantic's."""

    def model_dump(self) -> dict[str, Any]:
        return {"id": UUID(int=1), "shift": _Shift(datetime(2030, 5, 1))}


class _Endless(Sequence[int]):
    """Says that it is short."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: Any) -> Any:
        return index

    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


def _doubled(levels: int) -> Any:
    made: Any = []
    for _ in range(levels):
        made = [made, made]
    return made


def _cyclic() -> Any:
    made: dict[str, Any] = {}
    made["again"] = [made, made]
    return made


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (datetime(2030, 5, 1, 8), "2030-05-01T08:00:00"),
        (datetime(2030, 5, 1, 8, tzinfo=UTC), "2030-05-01T08:00:00+00:00"),
        (datetime(2030, 5, 1, 8, tzinfo=_EAST), "2030-05-01T08:00:00+02:00"),
        (datetime.min.replace(tzinfo=_EAST), "0001-01-01T00:00:00+02:00"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59.999999+00:00"),
        (date(2030, 5, 1), "2030-05-01"),
        (time(8, 30), "08:30:00"),
        (timedelta(days=2, seconds=1.5), "P2DT1.5S"),
        (-timedelta(hours=1), "-P0DT3600S"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.10"), "1.10"),
        (PurePosixPath("a/b"), "a/b"),
        (_Colour.RED, "red"),
        (_Holiday.MAY, "2030-05-01"),
        ([_Place("Oslo", date(2030, 5, 1))], [{"city": "Oslo", "opened": "2030-05-01"}]),
        (_Shift(datetime(2030, 5, 1)), {"begins": "2030-05-01T00:00:00", "colour": "red"}),
        (
            {"m": _Model()},
            {
                "m": {
                    "id": "00000000-0000-0000-0000-000000000001",
                    "shift": {"begins": "2030-05-01T00:00:00", "colour": "red"},
                }
            },
        ),
        ([UNDEFINED], [{"$": "undefined"}]),
        (ErrorValue("E", "m"), {"$": "error", "v": {"name": "E", "message": "m", "stack": ""}}),
        (MapValue([(date(2030, 5, 1), 1)]), {"$": "map", "v": [["2030-05-01", 1]]}),
        (range(3), [0, 1, 2]),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_answers_are_plain_data(value: Any, wire: Any) -> None:
    assert json.loads(await answer_text("a.b", value, _MOST)) == wire


@pytest.mark.parametrize(
    "value",
    [
        range(10**12),
        range(10**40),
        {"rows": [range(10**9)]},
        _doubled(60),
        {"a": [_doubled(60)]},
        _Endless(),
        [1] * 10_000_000,
        ["x" * 10_000] * 2000,
        "x" * (_MOST + 1),
        b"x" * _MOST,
        1 << (8 * _MOST),
        {"k" * 100_000 + str(n): n for n in range(200)},
    ],
    ids=lambda value: f"{type(value).__name__}",
)
async def test_answers_that_are_too_large_are_refused_in_time(value: Any) -> None:
    with pytest.raises(UnsupportedValue, match=f"more than the {_MOST} bytes"):
        await asyncio.wait_for(answer_text("a.b", value, _MOST), 60)


@pytest.mark.parametrize("most", [1000, 100_000, 2**18])
async def test_the_limit_holds_for_the_text_itself(most: int) -> None:
    fits = "x" * (most - 2)
    assert len(await answer_text("a.b", fits, most)) == most
    for value in (fits + "x", "\x01" * (most // 4), [10**15] * (most // 10), {"é" * most: 1}):
        with pytest.raises(UnsupportedValue, match="return less, or a part at a time"):
            await answer_text("a.b", value, most)


async def test_what_is_in_an_answer_twice_is_there_twice() -> None:
    shared = [1, {"a": 2}]
    value = {"one": shared, "two": [shared, shared], "deep": _doubled(3)}
    assert json.loads(await answer_text("a.b", value, _MOST)) == value


async def test_depth_counts_where_a_value_stands() -> None:
    inner: Any = 1
    for _ in range(150):
        inner = [inner]
    assert json.loads(await answer_text("a.b", [inner, [inner]], _MOST)) == [inner, [inner]]
    outer = inner
    for _ in range(60):
        outer = [outer]
    for value in (outer, [inner, outer], _cyclic()):
        with pytest.raises(UnsupportedValue, match="deeper than 200 levels or contains itself"):
            await answer_text("a.b", value, _MOST)


@pytest.mark.parametrize("many", [10, 100_000])
async def test_long_answers_have_the_same_text(many: int) -> None:
    rows = [{"id": n, "at": date(2030, 5, 1), "tags": ["a", float(n)]} for n in range(many)]
    value = {"rows": rows, "$": {"n": None}, "é": "\ud800"}
    plain = [{**row, "at": "2030-05-01"} for row in rows]
    text = await answer_text("a.b", value, _MOST)
    wire = {"$": "object", "v": [["rows", plain], ["$", {"n": None}], ["é", "\ud800"]]}
    assert text == json.dumps(wire, separators=(",", ":"))


async def test_the_event_loop_goes_on_while_a_long_answer_is_encoded() -> None:
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    turning = asyncio.ensure_future(turn())
    await asyncio.sleep(0)
    begun = turns
    await answer_text("a.b", [{"n": n} for n in range(300_000)], _MOST)
    turning.cancel()
    assert turns - begun > 20


@pytest.mark.parametrize(
    ("wire", "in_thread"),
    [
        ({}, False),
        ("x" * 10**6, False),
        ([{"$": "date", "v": 0}] * 300, False),
        ([{"$": "date", "v": 0}] * 1000, True),
        ({"$": "map", "v": [[n, n] for n in range(400)]}, True),
    ],
)
async def test_large_inputs_are_decoded_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, wire: Any, in_thread: bool
) -> None:
    threads = []

    def noted(given: Any) -> Any:
        threads.append(threading.current_thread())
        return decode(given)

    monkeypatch.setattr("interpstack.cells.answers.decode", noted)
    took = await arguments(_TAKES_ANY, Request(1, "any", wire), _CODE)
    assert took == ((decode(wire),), {})
    assert [one is not threading.main_thread() for one in threads] == [in_thread]


@pytest.mark.parametrize(("count", "in_thread"), [(10, False), (2000, True)])
async def test_large_inputs_are_checked_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, count: int, in_thread: bool
) -> None:
    threads = []

    def noted(self: Any, value: Any, language: Any) -> Any:
        threads.append(threading.current_thread())
        return dict(value)

    @bridge
    async def rows(items: list[int]) -> None: ...

    monkeypatch.setattr("interpstack.values.signatures.Signature.bind", noted)
    wire = {"items": list(range(count))}
    assert await arguments(rows, Request(1, "rows", wire, True), _CODE) == ((), wire)
    assert [one is not threading.main_thread() for one in threads] == [in_thread]


async def test_plain_input_without_a_signature_is_passed_as_it_is() -> None:
    wire = {"items": list(range(2000))}
    (took,), _ = await arguments(_TAKES_ANY, Request(1, "any", wire, True), _CODE)
    assert took is wire
