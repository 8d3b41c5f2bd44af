"""Importing the middleware adds little to what LangChain itself imports."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import interpstack_langchain

_ADDED = """
import json, sys

import langchain.agents

before = set(sys.modules)
import interpstack_langchain

print(json.dumps(sorted(set(sys.modules) - before)))
"""
#: Packages that are loaded when something of theirs is used.
_LATE = ("deepagents", "click", "jsrun", "prompt_toolkit", "pydantic_monty", "quickjs_rs", "rich")
#: Parts of the plugin that few agents have.
_OWN_LATE = ("interpstack_langchain.js_repl", "interpstack_langchain.background.background")


def test_importing_the_middleware_loads_no_package_that_may_not_be_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ADDED], capture_output=True, text=True, check=True
    )
    added = json.loads(done.stdout)
    assert "interpstack_langchain.middleware" in added
    assert [name for name in added if name.partition(".")[0] in _LATE] == []
    assert [name for name in added if name.startswith(_OWN_LATE)] == []


def test_a_middleware_that_few_agents_have_is_loaded_by_its_name() -> None:
    assert "JsReplMiddleware" in dir(interpstack_langchain)
    assert interpstack_langchain.JsReplMiddleware.__module__ == (
        "interpstack_langchain.js_repl.middleware"
    )
    with pytest.raises(AttributeError, match="has no attribute 'JsRepl'"):
        interpstack_langchain.JsRepl  # type: ignore[attr-defined]  # noqa: B018
