"""Values that cross: each side receives exactly the value that the other side sent."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpstack.contracts.bridges import Bridge, BridgeRegistry, ValueExchange
from interpstack.contracts.hookspecs import hookimpl
from interpstack.contracts.limits import Limits
from interpstack.contracts.outcome import CellContext
from interpstack.contracts.protocol import Cell, Settlement
from interpstack.values.decoding import (
    UNDEFINED,
    BigInt,
    ErrorValue,
    MapValue,
    SetValue,
    StandIn,
    decode,
)
from interpstack.values.encoding import encode
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.kit import EngineKit, poll
from interpstack_testing.conformance.texts import texts

__all__ = ["CrossingTests", "lookalikes", "normal"]

#: Keys that mean something to some language.
_KEYS = [
    "__proto__", "constructor", "prototype", "toString", "valueOf", "toJSON", "then", "$", "v",
    "length", "name", "get", "value", "0", "-1", "", " ", "\n", "a.b", "__class__", "__dict__",
    "__init__", "self", "\x00",
]  # fmt: skip

#: Objects of a guest in the forms that encodings of this project give to other values.
_LOOKALIKES: list[Any] = [
    {"$": "undefined"},
    *(
        {"$": kind, "v": body}
        for kind, body in (
            ("number", "NaN"),
            ("bigint", "5"),
            ("date", 0),
            ("bytes", "AAEC"),
            ("map", [["a", 1]]),
            ("set", [1]),
            ("list", [1]),
            ("object", [["a", 1]]),
            ("lost", "why"),
            ("unreadable", "no"),
            ("error", {"name": "Error", "message": "no", "stack": ""}),
            ("standin", {"id": "h1"}),
        )
    ),
    {"v": 1, "$": "no such kind", "more": 1},
    *({"$" * count + "bigint": "5"} for count in range(1, 4)),
    {"$workflow": [True, None]},
    ['\ufdd0text:"a"', {"\ufdd0text:": "\ufdd0text:x"}],
]


class CrossingTests(EngineKit, area=Area.CROSSING):
    """Required of every engine, for the kinds of values that its guest language has."""

    def test_values_cross_unchanged_both_ways(self) -> None:
        seen = []

        async def echo(value: Any) -> Any:
            seen.append(value)
            return value

        with self.session(echo=echo) as session:
            assert session.eval_sync(self.guest.exchange).error is None
        assert seen == [self.guest.exchanged, self.guest.exchanged]

    def test_value_of_the_guest_reaches_the_host(self, sent: tuple[str, Any]) -> None:
        source, expected = sent
        seen = []

        async def echo(value: Any) -> Any:
            seen.append(value)
            return value

        with self.session(echo=echo) as session:
            assert session.eval_sync(source).error is None
        assert [normal(encode(value)) for value in seen] == [normal(encode(expected))]

    def test_any_value_of_the_host_comes_back(self) -> None:
        with self.realm() as realm:

            @settings(
                max_examples=60,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(st.lists(values(self.guest.kinds), max_size=8))
            def check(value: list[Any]) -> None:
                wire = self._relay(realm, value)
                assert normal(wire) == normal(json.loads(json.dumps(encode(value))))
                decode(wire)

            check()

    def test_keys_are_data(self) -> None:
        value = [{key: [key, {key: 1}]} for key in _KEYS]
        with self.realm() as realm:
            assert normal(self._relay(realm, value)) == normal(encode(value))

    def test_objects_that_look_like_an_encoding_are_data(self) -> None:
        sent = lookalikes(self.guest.kinds)
        with self.realm() as realm:
            assert normal(self._relay(realm, sent)) == normal(encode(sent))

    def test_an_exchange_puts_back_the_values_that_stay_with_the_host(self) -> None:
        large = object()
        taken, contexts = [], []

        async def give(value: Any = None) -> Any:
            return large

        async def take(value: Any, context: CellContext) -> None:
            taken.append(value)
            contexts.append(context)

        with self.session(give=give, take=take, plugins=[_Exchanging(large)]) as session:
            assert session.eval_sync(self.guest.relay).error is None
        assert taken == [large]
        (context,) = contexts
        shown = context.shown_input["value"]
        assert (shown.id, dict(shown.about)) == ("h1", {"size": 5, "names": ["a"]})
        assert context.put_in == {"h1": large}
        assert not context.plain_input

    def test_values_of_some_size_and_depth_cross(self) -> None:
        deep: Any = 1
        for _ in range(100):
            deep = [deep]
        rows = [{"id": n, "name": f"row {n}", "tags": ["a", "b"]} for n in range(2000)]
        with self.realm() as realm:
            assert self._relay(realm, [deep, rows]) == [deep, rows]

    def test_values_that_are_too_large_are_refused_on_both_sides(self) -> None:
        seen = []

        async def echo(value: Any) -> str:
            seen.append(value)
            return "x" * 20_000

        with self.session(echo=echo, limits=Limits(value_bytes=10_000)) as session:
            session.eval_sync(self.guest.store)
            sent = session.eval_sync(self.guest.send_much)
            assert sent.error is not None
            assert sent.usage.requests == 0, "the host had to refuse what the guest let through"
            assert seen == []
            error = session.eval_sync(self.guest.request).error
            assert error is not None
            assert "may cross" in error.message
            self.assert_usable(session)

    def test_large_integers_are_answers_or_errors_that_code_can_catch(self) -> None:
        large = 1 << 2**20  # more than the integers of some engines hold
        for answer in (large, -large, {"deep": [large]}):

            async def echo(value: Any, answer: Any = answer) -> Any:
                return answer

            with self.session(echo=echo) as session:
                session.eval_sync(self.guest.store)
                outcome = session.eval_sync(self.guest.sequence)
                assert outcome.error is None, outcome.error
                assert outcome.text.split()[0] in ("0", "6"), outcome.text
                assert session.eval_sync(self.guest.recall).text == "42"
                self.assert_usable(session)

    def _relay(self, realm: Any, value: Any) -> Any:
        """The wire tree that the host gets back after passing `value` to a guest."""
        execution = realm.start(Cell(source=self.guest.relay, seed=1))
        (given_,) = poll(execution).requests
        assert given_.bridge == "kit.give"
        execution.settle([Settlement(given_.id, json.dumps(encode(value)))])
        progress = poll(execution)
        assert progress.requests, progress
        (taken,) = progress.requests
        execution.settle([Settlement(taken.id, "null")])
        completion = poll(execution).completion
        assert completion is not None
        assert completion.error is None
        return encode(decode(taken.wire)["value"])


class _Exchanging(ValueExchange):
    """A plugin that keeps one value with the host."""

    def __init__(self, large: object) -> None:
        self._large = large

    @hookimpl
    def interpstack_register_bridges(self, register: BridgeRegistry) -> None:
        register.exchange(self)

    async def given(self, bridge: Bridge, value: Any, context: CellContext) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("value"), StandIn):
            return value
        context.show_input(value, {value["value"].id: self._large})
        return {**value, "value": self._large}

    async def answered(self, bridge: Bridge, value: Any, context: CellContext) -> Any:
        return StandIn("h1", {"size": 5, "names": ["a"]}) if value is self._large else value


def lookalikes(kinds: frozenset[str]) -> list[Any]:
    """Objects in the forms of encodings, for a guest that has values of these kinds."""
    return [one for one in _LOOKALIKES if "object" in kinds or "$" not in one]


def normal(wire: Any) -> Any:
    """A wire tree in which order that means nothing is sorted away, and numbers are of one type."""
    if isinstance(wire, list):
        return [normal(item) for item in wire]
    if isinstance(wire, dict):
        if wire.get("$") == "object":
            return {"$": "object", "v": {key: normal(value) for key, value in wire["v"]}}
        return {key: normal(value) for key, value in wire.items()}
    if isinstance(wire, float) and wire.is_integer() and math.copysign(1, wire) > 0:
        return int(wire)
    return wire


def values(kinds: frozenset[str]) -> st.SearchStrategy[Any]:
    """Values made of plain JSON and these kinds, of up to a few levels."""
    text = texts(6) if "surrogate" in kinds else st.text(st.characters(codec="utf-8"), max_size=6)
    safe = st.integers(-(2**53) + 1, 2**53 - 1)
    leaves = [st.none(), st.booleans(), text, safe, st.floats(-1e15, 1e15).filter(_plain)]
    fields = text.filter(lambda key: key != "id" and "$" not in key)
    more: dict[str, st.SearchStrategy[Any]] = {
        "undefined": st.just(UNDEFINED),
        "number": st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7e308]),
        "bigint": st.integers(-(2**200), 2**200).map(BigInt),
        "date": st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(
            lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
        ),
        "bytes": st.binary(max_size=20),
        "standin": st.builds(StandIn, text, st.dictionaries(fields, st.lists(text), max_size=3)),
        "error": st.builds(ErrorValue, st.sampled_from(["Error", "TypeError"]), text, st.just("")),
    }
    leaves += [strategy for kind, strategy in more.items() if kind in kinds]
    return st.recursive(
        st.one_of(leaves), lambda inner: _containers(inner, text, kinds), max_leaves=8
    )


def _containers(
    inner: st.SearchStrategy[Any], text: st.SearchStrategy[str], kinds: frozenset[str]
) -> st.SearchStrategy[Any]:
    keys = text if "object" in kinds else text.filter(lambda key: key != "$")
    found: list[st.SearchStrategy[Any]] = [
        st.lists(inner, max_size=4),
        st.dictionaries(keys, inner, max_size=4),
    ]
    if "map" in kinds:
        found.append(st.dictionaries(text, inner, max_size=4).map(lambda d: MapValue(d.items())))
    if "set" in kinds:
        found.append(st.lists(text, max_size=4, unique=True).map(_set))
    if "object" in kinds:
        found.append(inner.map(lambda value: {"$": value, "v": 1}))
    return st.one_of(found)


def _set(items: Any) -> SetValue:
    return SetValue(items)


def _plain(number: float) -> bool:
    return number != 0 or math.copysign(1, number) > 0
