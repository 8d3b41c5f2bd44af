"""The hooks of the adapter's own plugin."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from graph_tasks import tool_request

from interpstack import HostOffer, InterpreterStack
from interpstack_langchain import plugin
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.options import Options
from interpstack_langchain.prompt import InterpreterPrompt
from interpstack_langchain.rules.call_limits import CallLimits, LimitGuard
from interpstack_persistence.api import hookspecs


def running() -> EvalCall:
    request = tool_request()
    return EvalCall(request, SiblingCalls.of(request), None)  # type: ignore[arg-type]


def session(host: Any) -> Any:
    return SimpleNamespace(host=host)


def test_persistence_modes_can_be_registered_without_the_plugin_that_has_them() -> None:
    assert plugin.interpstack_add_hookspecs() is hookspecs


@pytest.mark.parametrize("host", [None, "another adapter's object"])
def test_cells_of_others_have_no_limits(host: Any) -> None:
    assert plugin.interpstack_open_cell(session(host)) is None


def test_limits_of_other_middleware_guard_the_cell_of_an_eval() -> None:
    call = running()
    assert plugin.interpstack_open_cell(session(call)) is None
    call.limits = CallLimits((), (), None, "a", {}, {})
    guard = plugin.interpstack_open_cell(session(call))
    assert isinstance(guard, LimitGuard)
    assert guard.limits is call.limits


def test_only_an_interpreter_is_described_in_the_prompt() -> None:
    with InterpreterStack("quickjs", plugins=[]) as stack:
        assert plugin.interpstack_prompt_section(stack, HostOffer()) is None
        shown = InterpreterPrompt(Options(tool_name="js", memory_limit=7 * 2**20), "It forgets.")
        text = plugin.interpstack_prompt_section(stack, HostOffer(parts=[shown]))
    assert text is not None
    assert "`js`" in text
    assert "It forgets." in text
    assert "JavaScript" in text
