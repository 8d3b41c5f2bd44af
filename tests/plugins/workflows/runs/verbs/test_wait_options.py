"""Options of `ask` and `wait`."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_workflows.runs.failures import StepFailed
from interpstack_workflows.runs.verbs.wait_options import wait_seconds

_WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "ask",
        {"choice": ["a"]},
        "ask has no option 'choice'; it has choices, default, key, timeoutMs",
    ),
    ("wait", {"choices": ["a"]}, "wait has no option 'choices'; it has default, key, timeoutMs"),
    ("ask", {"choices": "a"}, 'ask: choices takes an array that is not empty; got "a"'),
    ("ask", {"choices": []}, "ask: choices takes an array that is not empty; got []"),
    ("ask", {"choices": ["a"], "default": "b"}, 'ask: default takes one of the choices; got "b"'),
    (
        "ask",
        {"choices": [1], "default": True, "timeoutMs": 1},
        "ask: default takes one of the choices; got true",
    ),
    ("ask", {"default": 0}, "ask: default is the value after timeoutMs, which is missing"),
    ("wait", {"default": "x", "timeoutMs": None}, "wait: default is the value after timeoutMs"),
    ("ask", {"key": 1}, "ask: key takes a string that is not empty; got 1"),
    ("wait", {"key": ""}, 'wait: key takes a string that is not empty; got ""'),
    ("ask", {"timeoutMs": -1}, "timeoutMs takes milliseconds, 0 or more; got -1"),
    ("ask", {"timeoutMs": True}, "timeoutMs takes milliseconds, 0 or more; got true"),
    ("wait", {"timeoutMs": "1"}, 'timeoutMs takes milliseconds, 0 or more; got "1"'),
    ("wait", {"timeoutMs": 31_536_000_001}, "timeoutMs takes at most 31536000000, 365 days"),
]


@pytest.mark.parametrize(
    ("kind", "options", "seconds"),
    [
        ("ask", {}, None),
        ("ask", {"choices": ["a", 2], "default": 2, "timeoutMs": 1500, "key": "k"}, 1.5),
        ("ask", {"choices": None, "timeoutMs": None, "default": None}, None),
        ("wait", {"timeoutMs": 31_536_000_000, "default": None}, 31_536_000.0),
        ("wait", {"timeoutMs": 0}, 0.0),
    ],
)
def test_options_have_a_time(kind: str, options: dict[str, Any], seconds: float | None) -> None:
    assert wait_seconds(kind, options) == seconds


@pytest.mark.parametrize(("kind", "options", "message"), _WRONG)
def test_wrong_options_say_what_is_accepted(
    kind: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(StepFailed) as raised:
        wait_seconds(kind, options)
    assert str(raised.value).startswith(message)


async def test_a_script_with_wrong_options_waits_for_nobody() -> None:
    async with runner(Prompts()) as one:
        result = await one.run(script("return ask('Go?', {choices: 'yes'})"))
        rehearsal = await one.rehearse(script("return wait('go', {timeout: 5})"))
    assert result.status == "failed"
    assert result.error is not None
    assert result.error["message"] == _WRONG[2][2].replace('"a"', '"yes"')
    assert "wait has no option 'timeout'" in str(rehearsal.faults)
