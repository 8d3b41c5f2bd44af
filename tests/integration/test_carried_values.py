"""Variables that another process gets: bounded by size, and each loss has a reason."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import InterpreterStack, SessionState

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
    """The traps of a proxy are code of the guest, and run while a variable is read."""
    source = "let a = 1; let slow = new Proxy({}, {ownKeys() { for (;;); }}); let z = 2; 1"
    with InterpreterStack(engine) as stack, stack.session() as session:
        outcome, state = await session.eval_with_state(source)
        assert outcome.ok
        assert state is not None
        assert state.values == {
            "a": 1,
            "slow": {
                "$": "lost",
                "v": "its value was not exported: reading it took too much time or memory",
            },
            "z": 2,
        }


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
