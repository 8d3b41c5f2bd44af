"""Values in both directions, and from one engine to another."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interpstack import (
    UNDEFINED,
    BigInt,
    Bridge,
    EngineFailure,
    ErrorValue,
    ImageError,
    InterpreterStack,
    Limits,
    MapValue,
    Session,
    SetValue,
    UnsupportedValue,
    bridge,
    decode,
    encode,
)
from interpstack_monty.crossing.values import Room, answer, from_guest, to_guest

FROM_HOST = [
    (UNDEFINED, "None"),
    (BigInt(2**70), str(2**70)),
    (2**60, str(2**60)),
    (math.inf, "inf"),
    (-0.0, "-0.0"),
    (b"\x00\xff", r"b'\x00\xff'"),
    (datetime(2020, 1, 2, tzinfo=UTC), "'2020-01-02T00:00:00+00:00'"),
    (datetime(2020, 1, 2), "'2020-01-02T00:00:00'"),
    (MapValue([(1, "a"), ("k", None)]), "{1: 'a', 'k': None}"),
    (MapValue([([1, ["x"]], "a"), ([2], "b")]), "{(1, ('x',)): 'a', (2,): 'b'}"),
    (MapValue([([1], "a"), ([1], "b")]), "[[[1], 'a'], [[1], 'b']]"),
    (MapValue([([{}], "a")]), "[[[{}], 'a']]"),
    (SetValue([[1, 2]]), "{(1, 2)}"),
    (SetValue([[1], [1]]), "[[1], [1]]"),
    (MapValue([(1, "a"), (True, "b")]), "[[1, 'a'], [True, 'b']]"),
    (SetValue([1]), "{1}"),
    (SetValue([1, True]), "[1, True]"),
    (SetValue([[1]]), "{(1,)}"),
    (SetValue([{}]), "[{}]"),
    (ErrorValue("ValueError", "bad"), "ValueError('bad')"),
    (ErrorValue("OwnError", "bad"), "RuntimeError('OwnError: bad')"),
    ({"$": [1]}, "{'$': [1]}"),
]


@pytest.mark.parametrize(("value", "shown"), FROM_HOST)
async def test_what_the_host_gives(value: Any, shown: str) -> None:
    async def get() -> Any:
        return value

    with InterpreterStack("monty", bridges=[Bridge(name="get", handler=get)]) as stack:
        async with stack.session() as session:
            outcome = await session.eval("repr(await get())")
    assert outcome.error is None
    assert outcome.text.startswith(shown)


FROM_GUEST = [
    ("(1, 2)", [1, 2]),
    ("2**70", BigInt(2**70)),
    ("float('-inf')", -math.inf),
    ("b'ab'", b"ab"),
    ("{1: 'a'}", MapValue([(1, "a")])),
    ("{'a': {1}}", {"a": SetValue([1])}),
    ("frozenset([1])", SetValue([1])),
    ("ValueError('bad')", ErrorValue("ValueError", "bad")),
    ("datetime.datetime(2020, 1, 2)", datetime(2020, 1, 2)),
    (
        "datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)",
        datetime(2020, 1, 2, tzinfo=UTC),
    ),
    ("'é😀'", "é😀"),
    ("None", None),
    ("True", True),
]


@pytest.mark.parametrize(("source", "value"), FROM_GUEST)
async def test_what_the_guest_gives(source: str, value: Any) -> None:
    seen = []

    async def put(given: Any) -> None:
        seen.append(given)

    with InterpreterStack("monty", bridges=[Bridge(name="put", handler=put, raw=True)]) as stack:
        async with stack.session() as session:
            assert (await session.eval(f"import datetime\nawait put({source})")).ok
    assert seen == [value]
    assert type(seen[0]) is type(value)


def test_sets_have_an_order() -> None:
    value = {"b", "a", 1, 2.5, ("x", "y"), None, frozenset(["d", "c"])}
    items = from_guest(value, Room(1000))["v"]
    assert items == sorted(items, key=json.dumps)
    assert {"$": "set", "v": ["c", "d"]} in items


@pytest.mark.parametrize(
    "source",
    [
        "lambda: 1",
        "str",
        "kit",
        "[len]",
        "{'a': A()}",
        "deep",
        "cycle",
        "datetime.date(2020, 1, 1)",
    ],
)
async def test_what_cannot_cross_is_refused(session: Session, source: str) -> None:
    await session.eval("""
import datetime
class A: pass
deep = 1
for i in range(300): deep = [deep]
cycle = []
cycle.append(cycle)
""")
    outcome = await session.eval(f"await kit.echo({source})")
    assert outcome.error.name == "TypeError"
    assert "cannot take this input" in outcome.error.message


async def test_inputs_are_bounded() -> None:
    async def echo(value: Any) -> None:
        raise AssertionError("never called")

    limits = Limits(value_bytes=1000)
    bridges = [Bridge(name="echo", handler=echo, raw=True)]
    with InterpreterStack("monty", bridges=bridges, limits=limits) as stack:
        async with stack.session() as session:
            for source in ("'x' * 2000", "list(range(900))", "['é' * 300]"):
                error = (await session.eval(f"await echo({source})")).error
                assert error.name in ("TypeError", "ValueError")
                assert "large" in error.message


_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.integers(min_value=2**60).map(BigInt),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text("abc$é", max_size=3), inner)
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def echoing() -> Any:
    from interpstack_monty.engine import MontyEngine

    engine = MontyEngine()
    worker = engine.workers.take(Limits())
    with worker.watched(60.0) as session:
        yield lambda value: session.feed_run("given", inputs={"given": value})
    worker.release()
    engine.close()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=_VALUES)
def test_values_come_back_as_they_were(echoing: Any, value: Any) -> None:
    wire = encode(value)
    assert decode(from_guest(echoing(to_guest(wire)), Room(10**6))) == decode(wire)


async def test_moments_without_a_zone_come_back_without() -> None:
    cell = """
import datetime
bare = datetime.datetime(2020, 1, 2)
zoned = datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc)
"""
    with InterpreterStack("monty") as stack:
        async with stack.session("a") as one, stack.session("b") as other:
            await one.eval(cell)
            await other.load(await one.values())
            assert (await other.eval("[bare.tzinfo, str(zoned - zoned), str(bare)]")).text == (
                "[None, '0:00:00', '2020-01-02 00:00:00']"
            )


async def test_a_state_moves_between_languages() -> None:
    with InterpreterStack("quickjs") as javascript, InterpreterStack("monty") as python:
        async with javascript.session("a") as one, python.session("b") as other:
            await one.eval("""
var rows = [{n: 1, when: new Date(0)}], big = 2n ** 70n, bytes = new Uint8Array([1, 2]);
var $odd = "kept", f = () => 1, pairs = new Map([["a", 1]]), missing = undefined;
""")
            await other.load(await one.values())
            text = (await other.eval("rows[0]['n'], big - 2**70, bytes, pairs['a'], missing")).text
            assert text == "(1, 0, b'\\x01\\x02', 1, None)"
            error = (await other.eval("f()")).error
            assert error.message == (
                "Value for 'f' was not restored because it is not serializable (type: function)."
            )
            await other.eval("rows.append({'n': 2.5})\nimport json\nf = 'mine now'")
            async with javascript.session("c") as third:
                await third.load(await other.values())
                found = "[rows[1].n, big === 2n ** 70n, bytes[1], pairs.a, $odd, f].join()"
                assert (await third.eval(found)).text == "2.5,true,2,1,kept,mine now"
                assert "json" in (await third.eval("json")).error.message


@pytest.mark.parametrize(
    ("given", "room"),
    [
        (["x" * 100] * 20, 1000),
        ([2**8000] * 20, 1000),
        ([ValueError("x" * 100)] * 20, 1000),
        ({"x" * 500: 1, "y" * 500: 2}, 1000),
        ([0] * 600, 1000),
    ],
)
def test_shared_parts_count_every_time(given: Any, room: int) -> None:
    with pytest.raises(UnsupportedValue, match="too large"):
        from_guest(given, Room(room))
    assert from_guest(given, Room(100_000))


async def test_a_few_lists_do_not_fill_the_host() -> None:
    echo = Bridge(name="kit.echo", handler=lambda value: value, raw=True)
    limits = Limits(cpu_seconds=1.0, memory_bytes=32 * 2**20)
    source = "x = [1]\nfor _ in range(40): x = [x, x]\n"
    async with InterpreterStack("monty", bridges=[echo], limits=limits).session() as session:
        error = (await session.eval(f"{source}await kit.echo(x)")).error
        assert error is not None
        assert error.name in ("TypeError", "OutOfMemory", "Timeout")
        hidden = "eval('__inter' + 'pstack_emit__')"
        error = (await session.eval(f"{source}await {hidden}('kit.echo', x)")).error
        assert error is not None
        assert (error.name, "is not callable" in error.message) == ("TypeError", True)


@pytest.mark.parametrize(("year", "hours"), [(1, 23), (9999, -23)])
async def test_a_datetime_without_a_form_in_utc_is_reported(
    session: Session, year: int, hours: int
) -> None:
    moment = f"datetime.datetime({year}, {1 if year == 1 else 12}, {1 if year == 1 else 31}, 12"
    zone = f"tzinfo=datetime.timezone(datetime.timedelta(hours={hours}))"
    await session.eval(f"import datetime\nedge = {moment}, {zone})")
    error = (await session.eval("await kit.echo(edge)")).error
    assert error.name == "TypeError"
    assert "a datetime outside the years 1 to 9999" in error.message
    assert "1 to 9999" in (await session.values())["edge"]["v"]


LOADED = {
    "late": {"$": "date", "v": 8.64e15},
    "errors": {
        "$": "set",
        "v": [{"$": "error", "v": dict.fromkeys(("name", "message", "stack"), "E")}],
    },
    "__interpstack_show__": 5,
    "ﬁ": 6,
    "kit": 7,
    "fine": [1],
}


async def test_one_value_that_cannot_be_taken_over_costs_no_other(stack: InterpreterStack) -> None:
    async with stack.session() as session:
        await session.load(LOADED)
        assert (await session.eval("fine, await kit.echo(2)")).text == "([1], 2)"
        error = (await session.eval("late")).error
        assert error.message == (
            "Value for 'late' was not restored because a date outside the years 1 to 9999 cannot "
            "be passed to the host."
        )
        assert "unhashable set element" in (await session.eval("errors")).error.message
        found = await session.values()
        assert {"fine", "__interpstack_show__", "ﬁ", "kit"} <= found.keys()
        assert found["kit"] == 7
        with pytest.raises(ImageError, match="the stored value of 'odd' is damaged"):
            await session.load({**LOADED, "odd": {"$": "date", "v": "?"}})
        assert (await session.eval("fine")).text == "[1]"


async def test_a_javascript_thread_with_an_odd_state_goes_on() -> None:
    with InterpreterStack("quickjs") as javascript, InterpreterStack("monty") as python:
        async with javascript.session("a") as one, python.session("b") as other:
            await one.eval(
                "var d = new Date(8.64e15), ok = 1; globalThis.__interpstack_globals__ = 5; 0"
            )
            await other.load(await one.values())
            assert (await other.eval("ok + 1")).text == "2"
            assert "1 to 9999" in (await other.eval("d")).error.message


def test_sets_in_sets_are_ordered_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is nested, an item is encoded for its own set, and for the set around that."""
    encoded: list[Any] = []

    def counted(item: Any, **options: Any) -> Any:
        encoded.append(item)
        return encode(item, **options)

    monkeypatch.setattr("interpstack_monty.crossing.values.encode", counted)
    nested: frozenset[Any] = frozenset(range(100))
    for level in range(50):
        nested = frozenset([nested, f"level {level}"])
    from_guest(nested, Room(10**6))
    assert len(encoded) <= 2 * 150 + 1


@pytest.mark.parametrize(
    "forges",
    ["shop.price = fake", "setattr(shop, 'price', fake)", "shop.sub.of = fake", "shop = fake"],
)
async def test_no_cell_gives_a_bridge_another_value_for_later_cells(forges: str) -> None:
    bridges = [Bridge(name=name, handler=lambda: "real") for name in ("shop.price", "shop.sub.of")]
    async with InterpreterStack("monty", bridges=bridges) as stack, stack.session() as session:
        assert (await session.eval(f"def fake(): return 'forged'\n{forges}\n1")).text == "1"
        for code in ("await shop.price()", "await shop.sub.of()"):
            assert (await session.eval(code)).text == "real"


@pytest.mark.parametrize("text", ["", "{", "NaN", "[" * 5000 + "]" * 5000])
def test_an_answer_that_is_not_json_is_the_hosts_failure(text: str) -> None:
    with pytest.raises(EngineFailure, match="an answer of the host cannot be read"):
        answer(text)


@pytest.mark.parametrize(
    "value", ["a\ud800b", {"k": ["\udfff"]}, {"\ud83d": 1}, MapValue([("\udc00", 1)])]
)
async def test_an_answer_with_half_of_a_surrogate_pair_is_an_error_that_code_can_catch(
    value: Any,
) -> None:
    async def get() -> Any:
        return value

    code = "try:\n    found = await get()\nexcept ValueError as e:\n    found = str(e)\nfound"
    with InterpreterStack("monty", bridges=[Bridge(name="get", handler=get)]) as stack:
        async with stack.session() as session:
            outcome = await session.eval(code)
    assert "half of a surrogate pair" in outcome.text


async def test_a_stored_value_with_half_of_a_surrogate_pair_is_lost_with_that_reason() -> None:
    with InterpreterStack("monty") as stack:
        realm = stack.engine.open(stack.limits, ())
        realm.load({"kept": "ok", "half": ["\ud800"]})
        values = realm.values()
        realm.close()
    assert values["kept"] == "ok"
    assert values["half"]["$"] == "lost"
    assert "half of a surrogate pair" in values["half"]["v"]


async def test_a_dictionary_that_looks_like_a_value_of_the_host_is_refused_both_ways() -> None:
    taken: list[Any] = []

    @bridge("kit.give")
    async def give() -> Any:
        return {"$standin": "h1", "x": 1}

    @bridge("kit.take")
    async def take(value: Any) -> None:
        taken.append(value)

    with InterpreterStack("monty", bridges=[give, take]) as stack, stack.session() as session:
        given = await session.eval("await kit.give()")
        assert given.error is not None
        assert "the answer cannot enter the guest: a dictionary has a text under '$standin'" in (
            given.error.message
        )
        passed = await session.eval("await kit.take(value=[{'$standin': 'h1'}])")
        assert passed.error is not None
        assert "a value that stays with the host" in passed.error.message
        assert (await session.eval("await kit.take(value={'$standin': 1})")).ok
    assert taken == [{"$standin": 1}]
