from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError, HostTool, Turn
from interpstack.turns import first_paragraph


async def _call(fields: dict[str, Any], context: Any) -> None: ...


def test_a_turn_is_fixed_whatever_it_was_made_of() -> None:
    tools, options = [HostTool(name="a", call=_call)], {"who": "me"}
    turn = Turn(tools=tools, options=options)
    tools.clear()
    options["who"] = "you"
    assert ([tool.name for tool in turn.tools], dict(turn.options)) == (["a"], {"who": "me"})
    with pytest.raises(TypeError):
        turn.options["who"] = "you"  # type: ignore[index]


def test_a_turn_takes_host_tools_alone() -> None:
    with pytest.raises(ConfigurationError, match="tools of a Turn are HostTools; got 5"):
        Turn(tools=[5])  # type: ignore[list-item]


def test_first_paragraph_is_the_summary() -> None:
    def tool() -> None:
        """Looks things up
        on the web.

        At length.
        """

    assert first_paragraph(tool) == "Looks things up\non the web."
    assert first_paragraph(lambda: None) == ""
