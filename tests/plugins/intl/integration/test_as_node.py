"""The answers of `Intl` beside those that Node 20 gave, which `record.mjs` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interpstack import Session

_FOLDER = Path(__file__).parent.parent
_NODE: dict[str, Any] = json.loads((_FOLDER / "node.json").read_text("utf-8"))
#: Answers that differ, by locale and number of the call. The page gives the reasons.
_DIFFERENT: dict[str, dict[str, str]] = json.loads((_FOLDER / "different.json").read_text("utf-8"))


@pytest.mark.parametrize("locale", _NODE["answers"])
async def test_the_answers_are_those_of_node(session: Session, locale: str) -> None:
    calls = ", ".join(f"({call})({locale!r})" for call in _NODE["calls"])
    outcome = await session.eval(f"JSON.stringify([{calls}])")
    assert outcome.error is None
    answers: list[str] = json.loads(outcome.text)
    expected: list[str] = list(_NODE["answers"][locale])
    for number, answer in _DIFFERENT.get(locale, {}).items():
        assert answer != expected[int(number)]  # or it is no difference
        expected[int(number)] = answer
    assert answers == expected


def test_few_answers_differ() -> None:
    asked = sum(len(answers) for answers in _NODE["answers"].values())
    assert len({locale.partition("-")[0] for locale in _NODE["answers"]}) == 40
    assert asked >= 800
    assert sum(len(found) for found in _DIFFERENT.values()) <= 0.04 * asked
