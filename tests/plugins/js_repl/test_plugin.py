"""The plugin of a REPL: its record, its time limit, and the calls that it refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from graph_tasks import tool_request

from interpstack import (
    Cell,
    GuestError,
    GuestException,
    HostOffer,
    HostTool,
    InterpreterStack,
    Outcome,
    Request,
)
from interpstack_js_repl.guest_global import HelperPaths
from interpstack_js_repl.plugin import HELPERS_RECORD, JsReplPlugin
from interpstack_js_repl.time_limit import TimeLimit
from interpstack_langchain.evals.call_names import SiblingCalls
from interpstack_langchain.evals.eval_call import EvalCall

CELL = Cell(source="1")


def plugin(**paths: str) -> JsReplPlugin:
    return JsReplPlugin(namespace="codex", paths=paths_(**paths))


def paths_(**paths: str) -> HelperPaths:
    return HelperPaths(**{"cwd": None, "home": None, "tmp": None, **paths})


async def nothing(given: dict[str, Any]) -> None:
    raise AssertionError("no call was made")


def session(*tools: str, host: Any = None) -> Any:
    schema = {"type": "object", "properties": {}}
    offered = [
        HostTool(name=name, description="", input_schema=schema, call=nothing) for name in tools
    ]
    return SimpleNamespace(offer=HostOffer(tools=offered), host=host)


def running() -> EvalCall:
    request = tool_request(name="js_repl")
    return EvalCall(request, SiblingCalls.of(request), None)  # type: ignore[arg-type]


# -- records -------------------------------------------------------------------------------


@pytest.mark.parametrize("paths", [{}, {"cwd": "/a", "tmp": "/t"}])
def test_a_plugin_is_the_same_after_its_record(paths: dict[str, str]) -> None:
    made = plugin(**paths)
    assert JsReplPlugin.recorded(made.record) == made


def test_a_record_without_a_name_is_of_the_usual_global() -> None:
    assert JsReplPlugin.recorded({"own": ["js_repl", "js_repl_reset"]}) == plugin()


# -- cells ---------------------------------------------------------------------------------


def test_cells_of_other_interpreters_are_unchanged() -> None:
    assert plugin().interpstack_open_cell(session(host="another"), CELL) is None


def test_an_eval_says_how_a_replay_can_run_its_code() -> None:
    call, described = running(), list[Any]()
    call.store = SimpleNamespace(describe=described.append)  # type: ignore[assignment]
    assert plugin().interpstack_open_cell(session(host=call), CELL) is None
    assert described == [{HELPERS_RECORD: plugin().record}]


def test_an_eval_with_a_time_limit_of_its_own_is_guarded() -> None:
    call = running()
    call.limit_wall(1.5)
    assert isinstance(plugin().interpstack_open_cell(session(host=call), CELL), TimeLimit)


# -- calls ---------------------------------------------------------------------------------


async def refused(name: str, *tools: str) -> str:
    """The message of the refusal of a call; empty if the call is not refused."""
    request = Request(id=1, bridge=f"codex.{name}", wire=[{}])
    wrapped = plugin().interpstack_wrap_request(session(*tools), request)
    if wrapped is None:
        return ""
    with pytest.raises(GuestException) as raised:
        await wrapped(None)
    return str(raised.value)


async def test_a_tool_that_the_agent_has_is_called() -> None:
    assert await refused("tool_look", "look") == ""


@pytest.mark.parametrize("name", ["json", "emitImage"])
async def test_helpers_that_are_no_tools_are_unchanged(name: str) -> None:
    assert await refused(name) == ""


@pytest.mark.parametrize("own", ["js_repl", "js_repl_reset"])
async def test_the_repl_s_own_tools_cannot_be_called(own: str) -> None:
    assert await refused(f"tool_{own}", "look") == "js_repl cannot invoke itself"


async def test_an_unknown_tool_names_those_that_code_can_call() -> None:
    assert await refused("tool_pay", "look", "read") == (
        "unsupported call: pay; tools that code can call: look, read"
    )
    assert (await refused("tool_pay")).endswith("tools that code can call: none")
    assert "task({…})" in await refused("tool_task", "look")


@pytest.mark.parametrize(("count", "end"), [(30, "t29"), (31, "t29 and 1 more")])
async def test_a_refusal_lists_thirty_tools_at_most(count: int, end: str) -> None:
    assert (await refused("tool_pay", *(f"t{n}" for n in range(count)))).endswith(end)


# -- outcomes ------------------------------------------------------------------------------


async def judged(outcome: Outcome) -> Outcome:
    async def made() -> Outcome:
        return outcome

    found = await plugin().interpstack_wrap_eval(session(), CELL)(made)
    assert isinstance(found, Outcome)
    return found


async def test_an_outcome_without_an_error_is_passed_on() -> None:
    outcome = Outcome(text="1")
    assert await judged(outcome) == outcome


async def test_errors_name_calls_as_code_writes_them() -> None:
    error = GuestError("Error", "codex.tool_look failed", data={"tool": "codex.tool_look"})
    own = (await judged(Outcome(error=error))).error
    assert own is not None
    assert own.data["tool"] == 'codex.tool("look")'
    assert own.message == "codex.tool_look failed", "the message is the code's"
    stopped = (await judged(Outcome(error=error, stopped=True))).error
    assert stopped is not None
    assert stopped.message == 'codex.tool("look") failed'


def test_only_a_repl_is_described_in_the_prompt() -> None:
    with InterpreterStack("quickjs", plugins=[]) as stack:
        assert plugin().interpstack_prompt_section(stack, HostOffer()) is None
