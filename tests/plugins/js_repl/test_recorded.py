"""Recorded calls of a REPL: the code of each, and the helpers of their code."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_js_repl.guest_global import HelperPaths
from interpstack_js_repl.plugin import JsReplPlugin
from interpstack_js_repl.recorded import RecordedJsRepl
from interpstack_langchain.api import RecordedCode


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"code": "1"}, RecordedCode("1", "1")),
        ({"__arg1": "// interpstack:\n1"}, RecordedCode("// interpstack:\n1", "\n1")),
        ({"code": "1", "timeout_ms": 5}, RecordedCode("1", "1")),
    ],
)
def test_the_source_of_a_call(args: Any, expected: RecordedCode) -> None:
    assert RecordedJsRepl.takes_code(args)
    assert RecordedJsRepl("js_repl").code(args) == expected


@pytest.mark.parametrize("args", [{"code": "1", "more": 1}, {"code": 1}, {"code": " "}])
def test_input_that_was_refused_has_no_source(args: Any) -> None:
    found = RecordedJsRepl("js_repl").code(args)
    assert found.source == ""
    assert found.fault.startswith("js_repl ")


def test_the_helpers_of_a_record_are_taken_before_the_usual_ones() -> None:
    paths = HelperPaths(cwd="/a", home=None, tmp="/t")
    plugin = JsReplPlugin(namespace="agent", own=("node", "node_reset"), paths=paths)
    journals: Any = [[], [{"js_repl": plugin.record}]]
    assert RecordedJsRepl.of("node", [], journals) == RecordedJsRepl("node", plugin)
    assert RecordedJsRepl.of("node", [{"code": "1"}], [[], [{}]]) is None
    usual = RecordedJsRepl.of("js_repl", [{"code": "1"}], [])
    assert usual is not None
    assert isinstance(usual.plugin, JsReplPlugin)
    assert usual.plugin.namespace == "codex"
    assert RecordedJsRepl.of("node", [{"__arg1": "1"}], []) is not None


def test_both_tools_run_in_the_order_of_a_message() -> None:
    assert RecordedJsRepl("node").tools == ("node", "node_reset")
