"""Importing the middleware adds little to what LangChain itself imports, and a store still less."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import interpstack_langchain

_ADDED = """
import json, sys

import langchain.agents

before = set(sys.modules)
from interpstack_langchain import CodeInterpreterMiddleware

print(json.dumps(sorted(set(sys.modules) - before)))
"""
_STORE = """
import json, sys, tempfile

from interpstack_workflows.api import open_store

with tempfile.TemporaryDirectory() as folder:
    open_store(folder + "/runs.db")
print(json.dumps(sorted(sys.modules)))
"""
_RECORDED = """
import json, sys

from interpstack_langchain.api import RecordedSurface

print(json.dumps(sorted(sys.modules)))
"""
#: Packages that are loaded when something of theirs is used.
_LATE = ("deepagents", "click", "jsrun", "prompt_toolkit", "pydantic_monty", "quickjs_rs", "rich")
#: What few agents have.
_OWN_LATE = ("interpstack_js_repl", "interpstack_langchain.background.background")


def _output_of(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_importing_the_middleware_loads_no_package_that_may_not_be_used() -> None:
    added = _output_of(_ADDED)
    assert "interpstack_langchain.middleware" in added
    assert [name for name in added if name.partition(".")[0] in _LATE] == []
    assert [name for name in added if name.startswith(_OWN_LATE)] == []


def test_a_store_of_workflows_needs_no_agent() -> None:
    modules = _output_of(_STORE)
    assert "interpstack_state.sqlite" in modules
    others = ("langchain", "langgraph", "interpstack_langchain", "psycopg", "redis")
    assert [name for name in modules if name.startswith(others)] == []


def test_a_middleware_is_loaded_by_its_name() -> None:
    assert "REPLMiddleware" in dir(interpstack_langchain)
    assert interpstack_langchain.REPLMiddleware.__module__ == "interpstack_langchain.middleware"
    with pytest.raises(AttributeError, match="has no attribute 'REPL'"):
        interpstack_langchain.REPL  # type: ignore[attr-defined]  # noqa: B018


def test_names_for_other_packages_are_loaded_one_by_one() -> None:
    modules = _output_of(_RECORDED)
    assert "interpstack_langchain.replay.recorded_surfaces" in modules
    others = ("interpstack_langchain.evals", "interpstack_langchain.middleware", "langchain_core")
    assert [name for name in modules if name.startswith(others)] == []
