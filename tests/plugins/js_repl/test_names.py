"""Names of bridges for tools."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import Bridge
from interpstack_js_repl.names import bridge_part, spoken, tool_name

USUAL = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@given(USUAL)
def test_each_name_has_a_bridge_of_its_own(name: str) -> None:
    part = bridge_part(name)
    Bridge(name=f"codex.{part}", handler=print, raw=True)
    assert tool_name(part) == name


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("look", "tool_look"),
        ("read-file", "tool_read$2d$file"),
        ("mcp__files__read", "tool_mcp__files__read"),
        ("toString", "tool_toString"),
        ("7zip", "tool_7zip"),
        ("🙂", "tool_$d83d$$de42$"),
        ("a$2d$b", "tool_a$24$2d$24$b"),
    ],
)
def test_parts_are_identifiers(name: str, part: str) -> None:
    assert bridge_part(name) == part


def test_parts_of_other_bridges_have_no_tool() -> None:
    assert tool_name("emit") is None
    assert tool_name("tool_$ffff$$zz$") == "\uffff$zz$"
    assert tool_name("tool_$d800$") == "\ufffd"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open: codex.tool_look, timer", 'open: codex.tool("look"), timer'),
        ("codex.tool_read$2d$file", 'codex.tool("read-file")'),
        ("codex.emit, mycodex.tool_look", "codex.emit, mycodex.tool_look"),
    ],
)
def test_calls_are_named_as_code_writes_them(text: str, said: str) -> None:
    assert spoken(text, "codex") == said
