"""Rejected promises that no code handles are noted in the guest's memory, and held no longer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interpstack import InterpreterStack, Limits, Session

_LOST = "A promise that the cell did not wait for was rejected: "


@pytest.fixture
def session() -> Iterator[Session]:
    with (
        InterpreterStack("quickjs", [], limits=Limits(memory_bytes=8 * 2**20)) as stack,
        stack.session() as made,
    ):
        yield made


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("new Error('lost')", "Error: lost, at <cell> (cell:1:20)"),
        ("'text ' + 7 ** 3", "text 343"),
        ("0", "0"),
        ("-1.5", "-1.5"),
        ("-1e300", "-1e+300"),
        ("-5e-324", "-5e-324"),
        ("-Infinity", "-Infinity"),
        ("NaN", "NaN"),
        ("undefined", "undefined"),
        ("null", "null"),
        ("true", "true"),
        ("2n ** 80n", "1208925819614629174706176n"),
        ("Symbol('s')", "Symbol(s)"),
        ("{a: [1]}", "{a: [1]}"),
    ],
)
def test_a_reason_may_be_any_value(session: Session, reason: str, shown: str) -> None:
    outcome = session.eval_sync(f"Promise.reject({reason}); 7")
    assert (outcome.text, outcome.notices) == ("7", (f"{_LOST}{shown}.",))
    assert session.eval_sync("1").notices == (), "it is reported once"


@pytest.mark.parametrize(
    "source",
    [
        "const p = Promise.reject(1); p.catch(() => 0); 7",
        "const p = (async () => { throw 1 })(); await null; await null; try { await p } catch {} 7",
        "try { await Promise.all([1, 2].map(async n => { throw n })) } catch {} 7",
        "const many = Array.from({length: 2000}, async () => { throw new Error('x') });"
        " await Promise.allSettled(many); 7",
        "for (let i = 0; i < 2000; i++) try { await Promise.reject({i}) } catch {} 7",
    ],
)
def test_promises_that_are_handled_are_not_named(session: Session, source: str) -> None:
    outcome = session.eval_sync(source)
    assert (outcome.text, outcome.error, outcome.notices) == ("7", None, ())


def test_one_that_is_lost_is_named_beside_many_that_are_handled(session: Session) -> None:
    source = "for (let i = 0; i < 2000; i++) await Promise.reject(i).catch(() => 0);"
    outcome = session.eval_sync(f"{source} (async () => {{ throw new Error('lost') }})(); 7")
    (notice,) = outcome.notices
    assert notice.startswith(f"{_LOST}Error: lost, at <anonymous> (cell:1:")


def test_a_promise_may_be_handled_by_a_later_cell(session: Session) -> None:
    assert session.eval_sync("var kept = Promise.reject(new Error('k')); 7").notices != ()
    assert session.eval_sync("await kept.catch(error => error.message)").text == "k"


def test_rejections_beyond_the_room_are_not_named(session: Session) -> None:
    source = "for (let i = 0; i < 1000; i++) Promise.reject(i); 7"
    outcome = session.eval_sync(source)
    assert (outcome.text, len(outcome.notices)) == ("7", 1)
    assert outcome.notices[0].startswith("100 ")
    assert session.eval_sync("Promise.reject('next'); 8").notices == (f"{_LOST}next.",)


def test_no_rejection_keeps_memory_beyond_its_cell(session: Session) -> None:
    source = """
    for (let i = 0; i < 20; i++) (async () => { throw new Error('x'.repeat(20_000)) })();
    for (let i = 0; i < 200; i++) Promise.reject('a'.repeat(2000) + i).catch(() => 0);
    globalThis.n = (globalThis.n ?? 0) + 1
    """
    for _ in range(100):  # 80 MB in all
        outcome = session.eval_sync(source)
        assert outcome.error is None
    assert outcome.text == "100"


async def test_a_stored_state_has_no_rejections_of_an_earlier_cell() -> None:
    async with InterpreterStack("quickjs", []) as stack:
        one, other = stack.session("one"), stack.session("other")
        await one.eval("Promise.reject({x: 'x'.repeat(50_000)}); var a = 1")
        await other.eval("var a = 1")
        kept, plain = await one.image(), await other.image()
        assert kept is not None
        assert plain is not None
        assert len(kept.data) < len(plain.data) + 5_000


_ENDLESS = "{ get name() { for (;;); }, get message() { for (;;); } }"


@pytest.mark.parametrize(
    "reason",
    [_ENDLESS, "Object.defineProperties(new Error('x'), {message: {get() { for (;;); } } })"],
)
def test_a_reason_whose_text_never_comes_is_a_time_limit(session: Session, reason: str) -> None:
    assert session.eval_sync("var before = 1").ok
    outcome = session.eval_sync(f"before = 2; Promise.reject({reason}); 7")
    assert outcome.error is not None
    assert outcome.error.name == "Timeout"
    assert session.eval_sync("1").text == "1"
