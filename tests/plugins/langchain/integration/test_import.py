"""Importing the middleware adds little to what LangChain itself imports."""

from __future__ import annotations

import json
import subprocess
import sys

_ADDED = """
import json, sys

import langchain.agents

before = set(sys.modules)
import interpstack_langchain

print(json.dumps(sorted(set(sys.modules) - before)))
"""
#: Packages that are loaded when something of theirs is used.
_LATE = ("deepagents", "click", "jsrun", "prompt_toolkit", "pydantic_monty", "quickjs_rs", "rich")


def test_importing_the_middleware_loads_no_package_that_may_not_be_used() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ADDED], capture_output=True, text=True, check=True
    )
    added = json.loads(done.stdout)
    assert "interpstack_langchain.middleware" in added
    assert [name for name in added if name.partition(".")[0] in _LATE] == []
