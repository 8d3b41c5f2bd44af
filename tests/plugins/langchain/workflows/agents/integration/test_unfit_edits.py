"""An edit that does not fit comes back with its approval, beside its fault; nothing fails."""

from __future__ import annotations

from typing import Any

import pytest
from agent_graphs import Acting
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from workflow_runs import MemoryRuns, runner, script

from interpstack_langchain import CodeInterpreterMiddleware

_PAY = {"pay": True}


def _edit(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def _graph(asks: str, pay: Any) -> Any:
    if asks == "code":
        code = [("eval", {"code": "await tools.pay({amount: 1})"})]
        middleware: Any = CodeInterpreterMiddleware(ptc=["pay"], interrupt_on=_PAY)
    else:
        code = [("pay", {"amount": 1})]
        middleware = HumanInTheLoopMiddleware(interrupt_on=_PAY, interrupt_mode=asks)
    return create_agent(Acting(turns=[code]), [pay], middleware=[middleware])


@pytest.mark.parametrize(
    ("asks", "faults"),
    [
        ("code", ["unable to parse string as an integer", "'nope', which is not a tool"]),
        ("batched", ["unable to parse string as an integer", "'nope', which is not a tool"]),
        ("per_call", ["unable to parse string as an integer", "Input should be 'pay'"]),
    ],
)
async def test_an_unfit_edit_comes_back_as_a_fault(asks: str, faults: list[str]) -> None:
    paid: list[int] = []

    def pay(amount: int) -> str:
        """Pay an amount."""
        paid.append(amount)
        return f"paid {amount}"

    unfit = [_edit("pay", amount="lots"), _edit("nope")]
    body = "return parallel([() => agent('go')])"
    async with runner(_graph(asks, pay), MemoryRuns()) as one:
        found = await one.run(script(body))
        for edit, fault in [*zip(unfit, faults, strict=True), (_edit("pay", amount=2), "")]:
            (wait,) = found.waiting_for
            (approval,) = wait["approvals"]
            assert (approval["tool"], approval["args"]) == ("pay", {"amount": 1})
            await one.answer(found.run_id, wait["id"], {approval["id"]: edit})
            found = await (await one.resume(found.run_id)).rest()
            if fault:
                assert fault in found.waiting_for[0]["approvals"][0]["fault"]
                assert paid == []
    assert (found.status, found.result) == ("completed", ["answer to go"])
    assert paid == [2]
