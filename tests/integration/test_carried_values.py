"""Variables that another process gets: bounded by size, and each loss has a reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from interpstack import InterpreterStack, SessionState, bridge
from interpstack_javascript.exported import exported
from interpstack_quickjs import realm

ENGINES = ["quickjs", "v8", "node"]
_SOURCE = """
globalThis.first = {a: 1};
var rows = Array.from({length: %d}, (_, i) => ({id: i, name: 'row'}));
var zeros = Array.from({length: 70000}, () => 0);
var last = 'x';
1
"""
_TOO_LARGE = {
    "$": "lost",
    "v": "it is too large to be stored: variables over 64 KiB as JSON have 2 MiB together, all "
    "others 8 MiB",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("rows", "carried"), [(20_000, True), (100_000, False)])
async def test_small_variables_are_carried_beside_large_ones(
    engine: str, rows: int, carried: bool
) -> None:
    with InterpreterStack(engine) as stack, stack.session() as session:
        outcome, state = await session.eval_with_state(_SOURCE % rows)
    assert outcome.ok
    assert state is not None
    values = state.values or {}
    assert (values["first"], values["last"]) == ({"a": 1}, "x")
    assert len(values["zeros"]) == 70_000
    if carried:
        assert len(values["rows"]) == rows
    else:
        assert values["rows"] == _TOO_LARGE


@pytest.mark.parametrize("engine", ENGINES)
async def test_small_variables_have_a_bound_together(engine: str) -> None:
    source = "for (let i = 0; i < 180; i++) globalThis['v' + i] = 'x'.repeat(60000); var z = 1; 1"
    with InterpreterStack(engine) as stack, stack.session() as session:
        _, state = await session.eval_with_state(source)
    assert state is not None
    values = state.values or {}
    assert len(values["v0"]) == 60_000
    assert values["v179"] == _TOO_LARGE
    assert values["z"] == 1


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_variable_that_cannot_be_read_in_time_takes_no_other_along(engine: str) -> None:
    """A getter in a list is code of the guest, and runs while a variable is read."""
    source = (
        "let a = {n: 1}; let slow = Object.defineProperty([], 0, {get() { for (;;); }, "
        "enumerable: true, configurable: true}); let z = [a]; 1"
    )
    with InterpreterStack(engine) as stack, stack.session() as session:
        outcome, state = await session.eval_with_state(source)
        assert outcome.ok
        assert state is not None
        assert state.values == {
            "a": {"n": 1},
            "slow": {
                "$": "lost",
                "v": "its value was not exported: reading it took too much time or memory",
            },
            "z": [{"$": "same", "v": ["a", 0]}],
        }


@pytest.mark.parametrize("engine", ENGINES)
async def test_variables_share_objects_again(engine: str) -> None:
    """Two references to one object came back as two objects, without a word."""
    source = (
        "const rows = Array.from({length: 9000}, (_, i) => ({i, name: 'a name'}));"
        "const byId = {1: rows[1]}, both = [byId, rows]; 1"
    )
    recall = "byId[1].i = 5; [rows[1].i, both[1] === rows, both[0][1] === rows[1]].join()"
    with InterpreterStack(engine) as stack:
        _, state = await stack.session("one").eval_with_state(source)
        assert state is not None
        other = SessionState(values=state.values)
        assert await stack.session("two").restore_state(other)
        assert (await stack.session("two").eval(recall)).text == "5,true,true"
        backwards = dict(reversed((state.values or {}).items()))
        await stack.session("three").load(backwards)
        assert (await stack.session("three").eval(recall)).text == "5,true,true"


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_variable_whose_object_is_gone_says_so(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        await stack.session("one").eval("const a = [1]; const b = {a}; const c = [b]; const d = 1")
        values = dict(await stack.session("one").values())
        del values["a"]
        await stack.session("two").load(values)
        error = (await stack.session("two").eval("b.a")).error
        assert error is not None
        assert "it shares an object with 'a', which was not restored" in error.message
        assert (await stack.session("two").eval("d")).text == "1"
        assert "with 'b'" in str((await stack.session("two").eval("c")).error)


@pytest.mark.parametrize("engine", ["v8", "node"])
async def test_a_proxy_is_not_taken_for_what_it_shows(engine: str) -> None:
    source = (
        "let p = [new Proxy({a: 1}, {})], slow = new Proxy({}, {getPrototypeOf() { for (;;); }}); 1"
    )
    with InterpreterStack(engine) as stack, stack.session() as session:
        outcome, state = await session.eval_with_state(source)
        (notice,) = outcome.notices
        why = "a proxy cannot be saved; keep its target in a variable"
        assert f"p ({why} (type: Array), at p[0])" in notice
        assert f"slow ({why} (type: Proxy))" in notice
        assert state is not None


_SHOWN = "new Proxy({net: 100, n: NaN}, {get: (t, k) => k === 'net' ? t[k] * 1.25 : t[k]})"


@pytest.mark.parametrize("engine", ENGINES)
async def test_no_value_of_a_proxy_is_carried_that_code_does_not_read(engine: str) -> None:
    source = f"let p = {_SHOWN}, list = [1, {_SHOWN}], plain = {{net: 100, n: NaN, zero: -0}}; 1"
    with InterpreterStack(engine) as stack:
        await stack.session("one").eval(source)
        values = await stack.session("one").values()
        await stack.session("two").load(values)
        for code in ("p.net", "list[1].net"):
            error = (await stack.session("two").eval(code)).error
            assert error is not None
            assert "a proxy cannot be saved; keep its target in a variable" in error.message
        read = await stack.session("two").eval("[plain.net, plain.n, Object.is(plain.zero, -0)]")
        assert read.text == "[100, NaN, true]"


@pytest.mark.parametrize("engine", ENGINES)
async def test_data_that_would_change_is_named_with_its_reason(engine: str) -> None:
    source = (
        "const k = Object.defineProperty({}, 'k', {value: 1, enumerable: true});"
        "Object.defineProperty(globalThis, 'fixed', {value: 1, configurable: true}); 1"
    )
    with InterpreterStack(engine) as stack, stack.session() as session:
        _, state = await session.eval_with_state(source)
        assert state is not None
        values = state.values or {}
        assert values["k"]["v"].startswith("a read-only property of an object that is not frozen")
        assert values["fixed"]["v"].startswith("it is read-only or cannot be deleted")


@pytest.mark.parametrize("engine", ENGINES)
async def test_what_a_tool_gets_holds_copies(engine: str) -> None:
    """References are for variables alone."""
    taken: list[Any] = []

    @bridge("kit.take")
    def take(value: Any) -> Any:
        taken.append(value)
        return value

    with InterpreterStack(engine, bridges=[take]) as stack, stack.session() as session:
        outcome = await session.eval(
            "const a = [1]; const back = await kit.take({value: [a, a]}); back[0] === back[1]"
        )
    assert (outcome.text, taken) == ("false", [[[1], [1]]])


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_variable_with_the_name_of_a_built_in_is_carried(engine: str) -> None:
    """`const URL = 'https://…'` came back as the class, without a word."""
    source = "const URL = 'https://a'; var performance = {a: 1}; escape = 5; function atob() {}; 1"
    with InterpreterStack(engine) as stack:
        _, state = await stack.session("one").eval_with_state(source)
        assert state is not None
        two = stack.session("two")
        (notice,) = await two.restore_state(SessionState(values=state.values))
        assert notice.endswith("Not restored: atob.")
        assert (await two.eval("[URL, performance, escape]")).text == '["https://a", {a: 1}, 5]'
        error = (await two.eval("atob('')")).error
        assert error is not None
        assert "Value for 'atob' was not restored" in error.message


@pytest.mark.parametrize("engine", ENGINES)
async def test_no_built_in_counts_as_a_variable(engine: str) -> None:
    """Also none that the engine makes when it is first used."""
    source = "for (const name of Object.getOwnPropertyNames(globalThis)) globalThis[name]; 1"
    with InterpreterStack(engine) as stack, stack.session() as session:
        assert (await session.eval(source)).ok
        assert list(await session.names()) == []
        assert await session.values() == {}


@pytest.mark.parametrize("engine", ["v8", "node"])
async def test_data_that_will_not_outlive_the_memory_is_named_at_once(engine: str) -> None:
    """Engines without images have only the portable values to restore a session from."""
    with InterpreterStack(engine) as stack, stack.session() as session:
        outcome, _ = await session.eval_with_state(_SOURCE % 100_000)
        (notice,) = outcome.notices
        assert notice == f"Not stored for other processes: rows ({_TOO_LARGE['v']})."
        again, _ = await session.eval_with_state("function f() {} rows.length")
        assert (again.text, again.notices) == ("100000", ())


async def test_an_image_carries_all_of_it_without_a_notice() -> None:
    with InterpreterStack() as stack, stack.session() as session:
        outcome, state = await session.eval_with_state(_SOURCE % 100_000)
        assert outcome.notices == ()
        other: Any = stack.session("other")
        assert await other.restore_state(state) == ()
        assert (await other.eval("rows.length")).text == "100000"


# -- variables that are too large ----------------------------------------------------------------


async def test_a_variable_that_was_too_large_is_not_read_by_each_export(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It took most of a second each time, whatever the cell did."""
    reads = list[bool]()

    def counted(ask: Any, large: Mapping[str, int] | None = None) -> str:
        reads.append(not large)
        return exported(ask, large)

    monkeypatch.setattr(realm, "exported", counted)
    source = "var rows = Array.from({length: 100000}, (_, i) => ({id: i, name: 'row'})); 1"
    with InterpreterStack("quickjs") as stack, stack.session() as session:
        for cell in [source, *["1 + 1"] * 40]:
            _, state = await session.eval_with_state(cell)
            assert state is not None
            assert (state.values or {})["rows"] == _TOO_LARGE
        assert (len(reads), sum(reads)) == (41, 3)  # the first, and each sixteenth
        await session.eval("rows = rows.slice(1, 10); 1")
        _, state = await session.eval_with_state("1")
        assert state is not None
        assert len((state.values or {})["rows"]) == 9


async def test_items_that_have_become_smaller_are_carried_again_some_exports_later() -> None:
    source = "var texts = Array.from({length: 3000}, () => 'x'.repeat(1000)); 1"
    with InterpreterStack("quickjs") as stack, stack.session() as session:
        _, state = await session.eval_with_state(source)
        assert state is not None
        assert (state.values or {})["texts"] == _TOO_LARGE
        await session.eval("texts.fill('y'); 1")
        found = list[bool]()
        for _ in range(17):
            _, state = await session.eval_with_state("1 + 1")
            assert state is not None
            found.append((state.values or {})["texts"] != _TOO_LARGE)
        assert found[-1]
        assert found == sorted(found)
