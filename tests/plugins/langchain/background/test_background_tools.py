"""An interpreter whose code may run in the background has two more tools, and words for them."""

from __future__ import annotations

import pytest

from interpstack import ConfigurationError
from interpstack_langchain import BackgroundOptions, CodeInterpreterMiddleware


def test_it_has_two_more_tools() -> None:
    with CodeInterpreterMiddleware(tool_name="run", background=True) as made:
        assert [tool.name for tool in made.tools] == ["run", "wait", "terminate"]


def test_the_prompt_names_them() -> None:
    with CodeInterpreterMiddleware(background=BackgroundOptions(3, ("a", "b"))) as made:
        text = made._interpreter.evals.offers.prompt([])
    assert "longer than 3 s" in text
    assert "`a` continues the code, `b` ends it." in text
    with CodeInterpreterMiddleware() as made:
        assert "continues the code" not in made._interpreter.evals.offers.prompt([])


def test_names_must_differ() -> None:
    with pytest.raises(ConfigurationError, match="has the tool 'wait', the name of"):
        CodeInterpreterMiddleware(tool_name="wait", background=True)
