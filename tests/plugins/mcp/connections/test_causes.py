"""Failures of connections, as people read them."""

from __future__ import annotations

from interpstack_mcp.connections.causes import cause_of, in_words


def test_of_a_group_the_first_exception_counts() -> None:
    first = ValueError("a\n  b")
    inner = ExceptionGroup("inner", [first, KeyError()])
    assert cause_of(ExceptionGroup("outer", [inner, TypeError()])) is first
    assert cause_of(first) is first


def test_a_failure_is_reported_in_one_line() -> None:
    assert in_words(ValueError("a\n  b")) == "ValueError: a b"
    assert in_words(ValueError()) == "ValueError"


def test_words_of_a_server_cannot_change_how_text_looks() -> None:
    assert in_words(ValueError("a\u202e\x1b[31m\x00b")) == "ValueError: a[31mb"
