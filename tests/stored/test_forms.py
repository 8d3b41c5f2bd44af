"""Everything an earlier version stored is read by this one, and no effect of it happens again.

Each directory below `forms` was written by `tests/support/stored_forms.py` of an earlier version,
and stays as it is.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command
from scripted import answers
from stored_forms import DEFINE, PAUSED, SIGNING_KEY, Account, agent, opened, turn

from interpstack import Image, InterpreterStack, SessionState

FORMS = Path(__file__).parent / "forms"
STORED = sorted(path.name for path in FORMS.iterdir())
READ = {
    "quickjs": "[total, names.length, String(seen.get('k'))].join()",
    "v8": "[total, names.length, String(seen.get('k'))].join()",
    "process:quickjs": "[total, names.length, String(seen.get('k'))].join()",
    "monty": "','.join([str(total), str(len(names)), '7'])",
}


@pytest.fixture(params=STORED)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of what one version stored."""
    return Path(shutil.copytree(FORMS / request.param, tmp_path / "stored"))


@pytest.fixture
def places(stored: Path) -> Iterator[tuple[Any, Any]]:
    with opened(stored) as found:
        yield found


@pytest.mark.parametrize("thread", ["plain", "signed"])
def test_variables_of_stored_threads_come_back(places: tuple[Any, Any], thread: str) -> None:
    options = {"snapshot_signing_key": SIGNING_KEY} if thread == "signed" else {}
    made = agent(*places, Account(), **options)
    said = answers(turn(made, thread, "[total, names.join(''), String(seen.get('k'))].join()"))
    assert "41,abcd,7" in said[0]
    again = answers(turn(made, thread, "names.push('e'); names.join('')"))
    assert "abcde" in again[0]


def test_a_stored_state_that_needs_another_key_is_refused(places: tuple[Any, Any]) -> None:
    made = agent(*places, Account(), snapshot_signing_key="another key, as long")
    said = answers(turn(made, "signed", "typeof total"))
    assert "undefined" in said[0]
    assert "could not be restored" in said[0]


@pytest.mark.parametrize("thread", PAUSED)
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_stored_pauses_go_on(places: tuple[Any, Any], thread: str, decision: str) -> None:
    account = Account()
    made = agent(*places, account, **PAUSED[thread])
    config = {"configurable": {"thread_id": thread}}
    asked = [one.value for task in made.get_state(config).tasks for one in task.interrupts]
    assert [a["name"] for one in asked for a in one["action_requests"]] == ["pay"]
    state = made.invoke(Command(resume={"decisions": [{"type": decision}]}), config)
    assert account.looks == []
    assert account.paid == ([5] if decision == "approve" else [])
    said = answers(state)[-1]
    assert ('["seen 1", ["seen 2", "seen 3"], "paid 5"]' in said) == (decision == "approve")


@pytest.mark.parametrize("engine", DEFINE)
async def test_stored_states_open(stored: Path, engine: str) -> None:
    data = json.loads((stored / "states.json").read_text())[engine]
    image = data["image"] and Image(*data["image"][:2], base64.b64decode(data["image"][2]))
    async with InterpreterStack(engine).session("stored") as session:
        await session.restore_state(SessionState(image=image, values=data["values"]))
        outcome = await session.eval(READ[engine])
    assert outcome.error is None
    assert "41,2,7" in str(outcome.text)
