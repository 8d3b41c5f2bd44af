"""Variables that earlier versions stored as values are still loaded.

`variables/1.json`: every place of a variable holds its own copy, errors have no class, and tuples
are lists. `variables/2.json`: variables share objects; errors, tuples and frozen sets are marked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interpstack import InterpreterStack, SessionState

VARIABLES = Path(__file__).with_name("variables")
JAVASCRIPT = (
    "[rows[0].n, byId[1].n, String(seen.get('k')), at.getTime(), Object.isFrozen(frozen),"
    " 1 in frozen.a, caught instanceof Error, caught.name, why.message, why.cause].join()"
)


def stored(form: str, language: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((VARIABLES / f"{form}.json").read_text())[language]
    return found


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
@pytest.mark.parametrize(("form", "shared"), [("1", "false,false"), ("2", "true,true")])
async def test_stored_variables_of_javascript(form: str, shared: str, engine: str) -> None:
    async with InterpreterStack(engine) as stack, stack.session() as session:
        values = stored(form, "javascript")
        (notice,) = await session.restore_state(SessionState(values=values))
        assert notice.endswith("Not restored: f.")
        text = (await session.eval(JAVASCRIPT)).text
        assert text == "1,1,7,0,true,false,true,TypeError,m,c"
        own = "[byId[1] === rows[0], caught instanceof TypeError].join()"
        assert (await session.eval(own)).text == shared


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("1", "([{'n': 1}], [1, 2], {'k': 7}, {1})"),
        ("2", "([{'n': 1}], (1, 2), {'k': 7}, frozenset({1}))"),
    ],
)
async def test_stored_variables_of_python(form: str, shown: str) -> None:
    async with InterpreterStack("monty") as stack, stack.session() as session:
        await session.restore_state(SessionState(values=stored(form, "python")))
        assert (await session.eval("str((rows, pair, seen, fixed))")).text == shown
        assert (await session.eval("isinstance(caught, KeyError)")).text == "True"


async def test_a_python_guest_names_what_javascript_shared() -> None:
    async with InterpreterStack("monty") as stack, stack.session() as session:
        await session.restore_state(SessionState(values=stored("2", "javascript")))
        assert (await session.eval("rows[0]['n']")).text == "1"
        error = (await session.eval("byId")).error
        assert error is not None
        assert "it would come back as a copy" in error.message
