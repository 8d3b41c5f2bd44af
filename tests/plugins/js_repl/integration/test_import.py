"""Agents without a REPL load nothing of it, and readers of its records load no agent."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import interpstack_js_repl

_READER = """
import json, sys

from interpstack_langchain.replay.recorded_surfaces import usual_tools

tools = usual_tools()
print(json.dumps([tools, sorted(sys.modules)]))
"""


def test_a_reader_of_records_needs_no_agent() -> None:
    command = [sys.executable, "-c", _READER]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    tools, modules = json.loads(done.stdout)
    assert tools == ["eval", "js_repl"]
    assert "interpstack_js_repl.recorded" in modules
    agents = ("interpstack_js_repl.middleware", "interpstack_langchain.middleware")
    assert [name for name in modules if name.startswith(agents)] == []


def test_the_middleware_is_loaded_by_its_name() -> None:
    assert "JsReplMiddleware" in dir(interpstack_js_repl)
    assert interpstack_js_repl.JsReplMiddleware.__module__ == "interpstack_js_repl.middleware"
    with pytest.raises(AttributeError, match="has no attribute 'JsRepl'"):
        interpstack_js_repl.JsRepl  # type: ignore[attr-defined]  # noqa: B018
