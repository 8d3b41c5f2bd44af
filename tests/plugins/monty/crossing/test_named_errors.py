"""Errors of the host get their own names back; other errors keep theirs."""

from __future__ import annotations

import json

from interpstack_monty.crossing.named_errors import NamedErrors


def test_only_received_errors_are_taken_apart() -> None:
    named = NamedErrors()
    named.add("ToolError", "no: such page")
    named.add("Odd: name", "")
    assert named.parts("ToolError: no: such page") == ("ToolError", "no: such page")
    assert named.parts("Odd: name: ") == ("Odd: name", "")
    assert named.parts("ToolError: no such page") is None
    assert named.parts("no: such page") is None


def test_errors_survive_as_json_however_large_they_were() -> None:
    named = NamedErrors()
    for _ in range(1000):
        named.add("ToolError", "x" * 100_000)
    text = json.dumps(named.to_data())
    assert len(text) < 100
    other = NamedErrors()
    other.restore(json.loads(text))
    assert other.parts("ToolError: " + "x" * 100_000) == ("ToolError", "x" * 100_000)
