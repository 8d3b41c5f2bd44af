"""Variables that another process gets: bounded by size, and each loss has a reason."""

from __future__ import annotations

import pytest

from interpstack import InterpreterStack

_SOURCE = """
globalThis.first = {a: 1};
var rows = Array.from({length: %d}, (_, i) => ({id: i, name: 'row'}));
var zeros = Array.from({length: 70000}, () => 0);
var last = 'x';
1
"""


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
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
        assert values["rows"] == {
            "$": "lost",
            "v": "it is too large to be carried: large variables may have 2097152 bytes as JSON "
            "together",
        }
