"""The log of calls from code."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from langchain_core.tools import tool

CALL = "await tools.answer({kind: %r})"


class Broken(Exception):
    """Raised by the tool."""


@tool
def answer(kind: str) -> Any:
    """Answer."""
    if kind == "error":
        raise Broken("no\nsuch page")
    return {
        "text": "one\ntwo\u2028\x1b[31m" + "é" * 5000,
        "list": list(range(5000)),
        "object": {"a": {"b": 1}},
        "nothing": None,
        "content": [{"type": "text", "text": "seen"}],
    }[kind]


@pytest.mark.parametrize(
    ("kind", "size"),
    [("text", 5013), ("list", 5000), ("object", 1), ("nothing", 0), ("content", 1)],
)
async def test_a_call_from_code_is_one_bounded_line(
    talk: Any, caplog: pytest.LogCaptureFixture, kind: str, size: int
) -> None:
    caplog.set_level(logging.INFO, "interpstack.tools")
    await talk(tools=[answer], ptc=["answer"]).run(CALL % kind)
    (record,) = caplog.records
    line = record.getMessage()
    assert line.startswith(f"answer: is_error=False, kind={kind}, size={size}, ")
    assert line.isprintable()
    assert len(line.encode()) < 800
    assert (record.tool, record.kind, record.is_error) == ("answer", kind, False)  # type: ignore[attr-defined]


async def test_the_exact_answer_is_logged_for_debugging(
    talk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "interpstack.tools")
    await talk(tools=[answer], ptc=["answer"]).run(CALL % "text")
    info, debug = caplog.records
    assert (info.levelname, debug.levelname) == ("INFO", "DEBUG")
    assert debug.args == ("answer", "one\ntwo\u2028\x1b[31m" + "é" * 5000)


async def test_a_failed_call_is_logged_as_an_error(
    talk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "interpstack.tools")
    (said,) = await talk(tools=[answer], ptc=["answer"]).run(CALL % "error")
    assert "no\nsuch page" in said
    (record,) = caplog.records
    assert "is_error=True, kind=Broken, size=12, " in record.getMessage()
    assert record.getMessage().endswith(r"no\nsuch page")


async def test_nothing_is_logged_above_that_level(
    talk: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "interpstack.tools")
    await talk(tools=[answer], ptc=["answer"]).run(CALL % "text")
    assert caplog.records == []
