"""Answers of sandboxes are checked and bounded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.runs.verbs.commands import checked_output


def test_text_and_bytes_become_text() -> None:
    answer = {"exitCode": 3, "stdout": "a\ud800é", "stderr": b"\xff\xc3\xa9", "more": 1}
    assert checked_output("p", answer) == {"exitCode": 3, "stdout": "a?é", "stderr": "\ufffdé"}
    assert checked_output("p", {"exitCode": 0}) == {"exitCode": 0, "stdout": "", "stderr": ""}


def test_long_streams_are_cut_and_marked() -> None:
    answer = {"exitCode": 0, "stdout": "é" * 10, "stderr": bytearray(b"1234")}
    cut = checked_output("p", answer, 5)
    assert cut == {"exitCode": 0, "stdout": "éé", "stderr": "1234", "truncated": ["stdout"]}
    said = {"exitCode": 0, "stdout": "a", "truncated": ("stderr",)}
    assert checked_output("p", said)["truncated"] == ["stderr"]
    assert checked_output("p", {"exitCode": 0, "stdout": b"\xff" * 5}, 5)["stdout"] == "\ufffd"


@given(data=st.binary(max_size=40) | st.text(max_size=40), most=st.integers(1, 40))
def test_no_stream_is_longer_than_it_may_be(data: Any, most: int) -> None:
    shown = checked_output("p", {"exitCode": 0, "stdout": data}, most)
    assert len(shown["stdout"].encode()) <= most
    given_bytes = data if isinstance(data, bytes) else data.encode("utf-8", "replace")
    whole = given_bytes.decode("utf-8", "replace")
    assert whole.startswith(shown["stdout"])
    assert ("truncated" in shown) == (shown["stdout"] != whole)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "a mapping with exitCode, stdout and stderr; it returned None"),
        ([0, "", ""], "a mapping with exitCode, stdout and stderr; it returned a list"),
        ({}, "an integer as exitCode; it returned None"),
        ({"exitCode": True}, "an integer as exitCode; it returned True"),
        ({"exitCode": "0"}, "an integer as exitCode; it returned a str"),
        ({"exitCode": 2**40}, "an integer as exitCode; it returned 1099511627776"),
        ({"exitCode": 0, "stdout": None}, "text or bytes as stdout; it returned None"),
        ({"exitCode": 0, "stderr": ["a"]}, "text or bytes as stderr; it returned a list"),
        ({"exitCode": 0, "truncated": "stdout"}, "as truncated; it returned a str"),
        ({"exitCode": 0, "truncated": ["all"]}, "as truncated; it returned a list"),
        ({"exitCode": 0, "truncated": [[]]}, "as truncated; it returned a list"),
    ],
)
def test_other_answers_are_refused(answer: Any, message: str) -> None:
    with pytest.raises(WorkflowError) as raised:
        checked_output("local/a", answer)
    assert str(raised.value).startswith("the sandbox 'local/a' has to return ")
    assert str(raised.value).endswith(message)
