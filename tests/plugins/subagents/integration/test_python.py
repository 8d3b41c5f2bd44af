"""`task` in Python: fields in snake case, given by name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest

from interpstack import HostOffer, InterpreterStack, Session
from interpstack_subagents.api import Subagents
from interpstack_testing import FakeEngine


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    async def dispatch(wanted: Any, context: Any) -> Any:
        return attrs.asdict(wanted)

    with InterpreterStack(FakeEngine(), ["subagents"]) as stack:
        async with stack.session() as made:
            made.bind(HostOffer(parts=[Subagents(dispatch)]))
            yield made


async def test_all_fields_arrive(session: Session) -> None:
    outcome = await session.eval(
        "got = await task(description='d', subagent_type='s', label='l', "
        "response_schema={'properties': {'a': {}}})\n"
        "[got[k] for k in ('description', 'subagent_type', 'label')], "
        "got['response_schema']['type']"
    )
    assert (outcome.error, outcome.text) == (None, "(['d', 's', 'l'], 'object')")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("task('d')", "takes arguments by name, as in task(description="),
        ("task(description='d')", "needs 'subagent_type'"),
        ("task(description='d', subagentType='s')", "has no field 'subagentType'"),
        (
            "task(description='d', subagent_type='s', response_schema=5)",
            "'response_schema' is a JSON Schema",
        ),
    ],
)
async def test_mistakes_are_reported_in_python(session: Session, source: str, said: str) -> None:
    error = (await session.eval(f"await {source}")).error
    assert error.name == "TypeError"
    assert said in error.message


def test_the_prompt_speaks_python() -> None:
    turn = HostOffer(parts=[Subagents(lambda wanted, context: None)])
    with InterpreterStack(FakeEngine(), ["subagents"]) as stack:
        text = stack.prompt(turn)
    assert "`await task(*, description, subagent_type, label=…, response_schema=…)`" in text
    assert "responseSchema" not in text
    assert len(text) < 1100
