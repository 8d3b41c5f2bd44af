"""Bridges that cells call where Monty cannot wait for them are named with a remedy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interpstack import Bridge, InterpreterStack, Session


@pytest.fixture
def session() -> Iterator[Session]:
    async def find(query: str) -> str:
        return query.upper()

    bridge = Bridge(name="db.find", handler=find)
    with InterpreterStack("monty", bridges=[bridge]) as stack, stack.session() as session:
        yield session


@pytest.mark.parametrize(
    "cell",
    [
        "list(map(lambda q: db.find(query=q), 'ab'))",
        "sorted('ba', key=lambda q: db.find(query=q))",
        "def found(q):\n    return db.find(query=q)\nlist(filter(found, 'ab'))",
    ],
)
def test_a_bridge_in_a_function_that_a_builtin_calls(session: Session, cell: str) -> None:
    error = session.eval_sync(cell).error
    assert error is not None
    assert error.name == "NotImplementedError"
    assert error.message.endswith("call the bridge in a loop or a comprehension")
    kept = session.eval_sync("[await db.find(query=q) for q in 'ab']")
    assert kept.text == "['A', 'B']"


def test_a_call_of_an_earlier_cell_cannot_be_awaited(session: Session) -> None:
    assert session.eval_sync("found = db.find(query='a')\n1").text == "1"
    error = session.eval_sync("await found").error
    assert error is not None
    assert error.name == "Deadlock"
    assert "is it a call of an earlier cell?" in error.message
