"""The kind of subagent that a request names."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import InterpreterStack
from interpstack_subagents.api import subagent_named


@pytest.mark.parametrize(
    ("engine", "wire", "name"),
    [
        ("quickjs", {"subagentType": "kid"}, "kid"),
        ("quickjs", {"subagent_type": "kid"}, ""),
        ("monty", {"subagent_type": "kid"}, "kid"),
        ("quickjs", {"subagentType": {"$": "undefined"}}, ""),
        ("quickjs", ["kid"], ""),
        ("quickjs", None, ""),
    ],
)
def test_the_field_is_spelt_as_in_the_language(engine: str, wire: Any, name: str) -> None:
    assert subagent_named(wire, InterpreterStack(engine).language) == name
