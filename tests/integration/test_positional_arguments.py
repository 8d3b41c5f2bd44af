"""Functions of the host that take their arguments by position, on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from engines import OnEngine

from interpstack import Bridge, BridgeError, InterpreterStack, Session


@pytest.fixture
def session(on_engine: OnEngine) -> Iterator[Session]:
    async def note(given: Any) -> str:
        return repr(given)

    taken = Bridge(name="kit.take", handler=note, raw=True, positional=True)
    with InterpreterStack(on_engine.name, bridges=[taken]) as stack:
        yield stack.session("one")


@pytest.mark.engines("all")
async def test_the_handler_gets_the_list_of_the_arguments(session: Session) -> None:
    for source, given in (
        ("await kit.take('a')", "['a']"),
        ("await kit.take('a', 2, [3], {'b': 4})", "['a', 2, [3], {'b': 4}]"),
        ("await kit.take()", "[]"),
    ):
        assert (await session.eval(source)).text == given


@pytest.mark.engines("javascript")
async def test_a_method_of_lists_passes_no_index_and_no_list(session: Session) -> None:
    cell = "Array.prototype[Symbol.iterator] = null; (await Promise.all(['a', 'b'].map(kit.take)))"
    assert (await session.eval(f"{cell}.join()")).error is not None  # `Promise.all` needs it
    cell = "[await ['a'].map(kit.take)[0], await kit.take('a', 0, {})].join()"
    outcome = await session.eval(cell)
    assert outcome.text == "['a'],['a', 0, {}]"


@pytest.mark.engines("all")
async def test_python_passes_named_arguments_behind_the_others(
    session: Session, on_engine: OnEngine
) -> None:
    if on_engine.language == "python":
        outcome = await session.eval("await kit.take('a', b=1)")
        assert outcome.text == "['a', {'b': 1}]"
        assert (await session.eval("await kit.take(b=1)")).text == "[{'b': 1}]"


@pytest.mark.parametrize("wrong", [{"raw": False}, {"awaited": False}])
def test_such_a_function_takes_its_value_as_it_is_and_answers(wrong: dict[str, bool]) -> None:
    async def note(given: Any) -> None:
        raise AssertionError("it is never called")

    with pytest.raises(BridgeError, match=r"'kit\.take': positional=True needs raw=True"):
        Bridge(name="kit.take", handler=note, positional=True, **{"raw": True, **wrong})
