"""A search among tools by words."""

from __future__ import annotations

import pytest

from interpstack import UNDEFINED, HostTool
from interpstack_agents import found_tools


async def never(given: object, context: object) -> None:
    raise AssertionError


TOOLS = {
    "sendMail": HostTool(name="send_mail", call=never, description="Send a letter.\nMore."),
    "read": HostTool(name="read", call=never, description="Read mail."),
}


def test_names_come_before_descriptions() -> None:
    assert found_tools(TOOLS, "MAIL") == [
        {"name": "sendMail", "description": "Send a letter."},
        {"name": "read", "description": "Read mail."},
    ]
    assert [one["name"] for one in found_tools(TOOLS, "read mail")] == ["read"]
    assert found_tools(TOOLS, "nothing") == []


def test_a_search_is_bounded() -> None:
    many = {f"tool{n}": TOOLS["read"] for n in range(50)}
    assert len(found_tools(many, UNDEFINED)) == 20
    with pytest.raises(ValueError, match="at most 1000"):
        found_tools(TOOLS, "a" * 1001)
    with pytest.raises(TypeError, match="takes a string"):
        found_tools(TOOLS, ["a"])
