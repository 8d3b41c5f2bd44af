"""Texts for notebooks."""

from __future__ import annotations

import io

import pytest

from interpstack_notebook.texts import ConsoleWriter, escaped, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é", "plain\n\ttext é"),
        ("\x1b[31m\r\x08", "\\x1b[31m\\r\\x08"),
        ("\u202eabc\ud800", "\\u202eabc\\ud800"),
        ("only ascii\n", "only ascii\n"),
    ],
)
def test_signs_that_cannot_be_seen_are_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_html_is_shown() -> None:
    assert escaped('<a href="x">\'&\x1b') == "&lt;a href=&quot;x&quot;&gt;&#x27;&amp;\\x1b"


def test_the_last_line_is_ended_once() -> None:
    stream = io.StringIO()
    writer = ConsoleWriter(stream)
    writer.finish()
    writer("one\ntw")
    writer("o")
    writer.finish()
    writer.finish()
    assert stream.getvalue() == "one\ntwo\n"
