"""Cells are checked before their first effect: calls that cannot succeed are refused."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, Literal

import attrs
import pytest
from checked_cells import RIGHT, SEEDED, UNDECIDED, bridges_noting
from engines import OnEngine

from interpstack import (
    Bridge,
    GuestError,
    InterpreterStack,
    Limits,
    Session,
    StepSource,
    bridge,
    hookimpl,
)
from interpstack.guests import NOT_RUN

#: Calls that are wrong, and what is said of each.
WORDS = {
    "tools.serach({q: 'a'})": "tools has no 'serach'; did you mean tools.search?",
    "mail.bax.send({to: 'a'})": "mail has no 'bax'; did you mean mail.box.send?",
    "files.open({path: 'a'})": "files has no 'open'; it has files.read",
    "tools.search({query: 'a'})": "tools.search has no field 'query'; call it as "
    "tools.search({q, limit?}); q takes a string, limit takes a whole number",
    "tools.search({limit: 1})": "tools.search needs the field 'q'; call it as "
    "tools.search({q, limit?}); q takes a string, limit takes a whole number",
    "tools.getUser({id: '1x'})": "tools.getUser: field 'id' takes a whole number; got \"1x\"",
    "tools.book({room: 'gray', seats: 1})": "tools.book: field 'room' takes one of \"blue\", "
    '"red"; got "gray"',
    "tools.search({q: 'a'}, {})": "tools.search takes one argument, with all fields in it; "
    "another one would have no effect",
    "tools.search({q: 'a'}).length": 'a Promise of tools.search has no "length"; write '
    "(await tools.search(…)).length",
    "tools.search({q: 'a'})[0]": 'a Promise of tools.search has no "0"; write '
    "(await tools.search(…))[0]",
}


built: list[str] = []


@attrs.frozen
class Order:
    """What is ordered; notes that it was built."""

    item: str

    def __attrs_post_init__(self) -> None:
        built.append(self.item)


@bridge("shop.buy")
def buy(order: Order, choice: Literal["tea"] | dict[str, int] = "tea", count: int = 1) -> int:
    return count


@pytest.fixture
def noted() -> list[str]:
    return []


@pytest.fixture
def session(on_engine: OnEngine, noted: list[str]) -> Iterator[Session]:
    with InterpreterStack(on_engine.name, ["console"], bridges=bridges_noting(noted)) as stack:
        yield stack.session("one")


@pytest.mark.engines("javascript")
async def test_seeded_faults_are_caught_before_the_first_effect(
    session: Session, noted: list[str]
) -> None:
    missed = []
    for source in SEEDED:
        error = (await session.eval(source)).error
        if error is None or not error.message.startswith(NOT_RUN) or noted:
            missed.append((source, error and error.message))
        noted.clear()
    assert len(SEEDED) >= 200
    assert len(missed) <= len(SEEDED) // 10, missed


async def test_right_cells_are_not_refused() -> None:
    refused = []
    with InterpreterStack("quickjs", ["console"], bridges=bridges_noting([])) as stack:
        for source in RIGHT:
            async with stack.session() as session:
                outcome = await session.eval(source)
            if outcome.error is not None:
                refused.append((source, outcome.error.message))
    assert refused == []
    assert len(RIGHT) >= 1000


@pytest.mark.engines("javascript")
async def test_the_words_are_those_of_the_run(on_engine: OnEngine) -> None:
    for check in ("names", "off"):
        bridges = bridges_noting([])
        async with (
            InterpreterStack(on_engine.name, bridges=bridges, check=check) as stack,
            stack.session() as session,
        ):
            for call, words in WORDS.items():
                error = (await session.eval(f"await {call}")).error
                assert error is not None
                assert error.name == "TypeError"
                assert error.message.endswith(words), (check, call, error.message)
                assert error.message.startswith(NOT_RUN) is (check == "names")


@pytest.mark.engines("javascript")
async def test_all_faults_of_a_cell_are_told_with_their_places(
    session: Session, noted: list[str]
) -> None:
    source = (
        "await tools.save({text: 'a'});\n"
        "const hits = await tools.serach({q: 'é𝒳'});\n"
        "'é𝒳'; tools.search({q: 'a'}).map((hit) =>\n"
        "  tools.getUser({uid: hit.id}));\n"
    )
    outcome = await session.eval(source)
    assert outcome.error is not None
    assert outcome.error.message.split("\n") == [
        NOT_RUN,
        "  at cell:2:20: tools has no 'serach'; did you mean tools.search?",
        '  at cell:3:7: a Promise of tools.search has no "map"; write (await tools.search(…)).map',
        "  at cell:4:3: tools.getUser has no field 'uid'; call it as tools.getUser({id}); "
        "id takes a whole number",
    ]
    place = outcome.error.place
    assert place is not None
    assert (place.line, place.column) == (2, 20)
    assert (noted, outcome.usage.requests, outcome.state) == ([], 0, "kept")
    assert (await session.eval("typeof hits")).text == "undefined"


async def test_what_only_the_run_tells_is_left_to_the_run(
    session: Session, noted: list[str]
) -> None:
    for source in UNDECIDED:
        noted.clear()
        error = (await session.eval(f"await tools.save({{text: 'x'}});\n{source}")).error
        assert error is not None, source
        assert noted == ["x"], source


@pytest.mark.engines("javascript")
async def test_the_check_can_be_switched_off(on_engine: OnEngine, noted: list[str]) -> None:
    with InterpreterStack(on_engine.name, bridges=bridges_noting(noted), check="off") as stack:
        outcome = await stack.session("one").eval("await tools.save({text: 'a'}); tools.serach()")
    assert outcome.error is not None
    assert outcome.error.message.endswith("tools has no 'serach'; did you mean tools.search?")
    assert noted == ["a"]


async def test_what_earlier_cells_declare_is_no_fault(session: Session) -> None:
    for source in (
        "var api = {serach: (q) => q}; function tools2() { return tools.serach(); }",
        "api.serach('a', 'b')",
        "Promise.prototype.top = function () { return this.then((all) => all[0]); }; 1",
        "(await tools.search({q: 'a'}).top()).title",
    ):
        assert (await session.eval(source)).error is None, source


async def test_functions_that_are_offered_later_are_found(noted: list[str]) -> None:
    from interpstack import HostOffer, HostTool

    async def call(given: dict[str, Any], context: Any) -> str:
        return "called"

    with InterpreterStack("quickjs", ["ptc"]) as stack:
        session = stack.session("one")
        for names, ok in (((), False), (("later",), True), ((), False)):
            session.bind(HostOffer(tools=[HostTool(name=name, call=call) for name in names]))
            outcome = await session.eval("await tools.later({})")
            assert outcome.ok is ok


async def test_no_class_of_the_host_is_built_by_the_check() -> None:
    with InterpreterStack("quickjs", bridges=[buy]) as stack:
        session = stack.session("one")
        for source, words in (
            ("await shop.buy({order: {item: 'tea'}})", None),
            ("await shop.buy({order: {item: 'tea'}, count: 'x'})", NOT_RUN),
            ("await shop.buy({order: {item: 'tea'}, cuont: 1})", NOT_RUN),
            ("await shop.buy({order: {itme: 'tea'}})", "shop.buy: "),
            ("await shop.buy({choice: 'tea', order: {item: 'tea'}})", None),
            ("await shop.buy({choice: {a: 1}, order: {item: 'tea'}})", None),
            ("await shop.buy({choice: 'rum', order: {item: 'tea'}})", NOT_RUN),
            ("await shop.buy({choice: {a: 'x'}, order: {item: 'tea'}})", NOT_RUN),
        ):
            built.clear()
            error = (await session.eval(source)).error
            assert (error is None) is (words is None), source
            if words is not None and error is not None:
                assert error.message.startswith(words), source
            assert bool(built) is (words is None), source


async def test_a_bridge_may_tell_itself_what_it_refuses(noted: list[str]) -> None:
    asked: list[Any] = []

    def refuses(value: Any) -> GuestError | None:
        asked.append(value)
        return GuestError("Closed", "no") if value == {"a": 1} else None

    own = Bridge(name="own.call", handler=lambda value: 1, raw=True, refuses=refuses)
    with InterpreterStack("quickjs", bridges=[own]) as stack:
        session = stack.session("one")
        error = (await session.eval("await own.call({a: 1})")).error
        assert error is not None
        assert (error.name, error.message) == ("Closed", f"{NOT_RUN}\n  at cell:1:7: no")
        assert (await session.eval("const n = 1; await own.call([n, 'x', null])")).ok
    assert [repr(one) for one in asked] == ["{'a': 1}", "[UNKNOWN, 'x', None]"]


class _Begun:
    """Opens each cell as one that an earlier run began."""

    @hookimpl
    def interpstack_open_cell(self) -> StepSource:
        source = StepSource()
        source.begun = True
        return source


async def test_the_rest_of_a_cell_that_was_begun_is_not_refused(noted: list[str]) -> None:
    with InterpreterStack("quickjs", [_Begun()], bridges=bridges_noting(noted)) as stack:
        outcome = await stack.session("one").eval("await tools.save({text: 'a'}); tools.gone()")
    assert outcome.error is not None
    assert NOT_RUN not in outcome.error.message
    assert noted == ["a"]


@pytest.mark.parametrize(
    "source",
    [
        "tools.search(" + "[" * 4000 + "]" * 4000 + ")",
        "tools.search(" + "{a:" * 2500 + "1" + "}" * 2500 + ")",
        "tools.search({q: 'a'})" + ".then(f)" * 1900,
        "tools" + ".a" * 8000 + "()",
        "x" + ".a" * 8000 + "; tools.search({q: 'a'})",
        "tools.search({" + "a:1," * 4000 + "})",
        "tools.search({q:[" + "1," * 8000 + "]})",
        "tools.x();" * 1600,
        "f(" * 5000 + "tools.x()" + ")" * 5000,
        "(" * 6000 + "tools.x()" + ")" * 6000,
        "tools.search(" + "-" * 1 + " -" * 5000 + "1)",
        "() => " * 2500 + "tools.x()",
        "if (a) " * 2000 + "tools.x()",
        "`${" * 3000 + "tools.x()" + "}`" * 3000,
        "a = " * 4000 + "tools.x()",
        "tools.search({['" + "x" * 16000 + "']: 1})",
        "tools['" + "\\u0061" * 2500 + "']()",
        "(" * 16000,
        "tools.x(" * 2000,
        " " * 16000 + "tools.x()",
        "tools" + " " * 16000 + "x",
        "tools" + " " * 8000 + "tools " * 1300,
    ],
    ids=lambda source: re.sub(r"(.{2,}?)\1+", r"\1…", source[:60])[:40],
)
async def test_a_hostile_cell_costs_little(session: Session, source: str) -> None:
    await session.eval("await tools.search({q: 'a'})")  # loads the parser
    begun = time.thread_time()
    wall = time.perf_counter()
    outcome = await session.eval(source)
    assert time.thread_time() - begun < 0.5  # the event loop's own
    assert time.perf_counter() - wall < 30
    if outcome.error is not None:
        assert len(outcome.error.message) < 20_000
    assert (await session.eval("1 + 1")).text == "2"


async def test_large_cells_run_unchecked(session: Session) -> None:
    source = f"const data = [{'1, ' * 6000}];\nawait tools.search({{q: 'a'}})"
    assert (await session.eval(source)).ok
    wrong = f"const more = [{'1, ' * 6000}];\nawait tools.search({{query: 'a'}})"
    error = (await session.eval(wrong)).error
    assert error is not None
    assert error.message.startswith("tools.search has no field 'query'")


async def test_the_limits_of_the_cell_hold(noted: list[str]) -> None:
    limits = Limits(cpu_seconds=0.2)
    with InterpreterStack("quickjs", bridges=bridges_noting(noted), limits=limits) as stack:
        session = stack.session("one")
        assert (await session.eval("await tools.search({q: 'a'})")).ok
        outcome = await session.eval("for (;;); tools.search({q: 'a'})")
    assert outcome.error is not None
    assert outcome.error.name == "Timeout"
