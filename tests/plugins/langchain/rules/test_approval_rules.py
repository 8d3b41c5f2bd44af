"""The rules of approvals, and whose rule decides; `test_agent_rules` has them in agents."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware

from interpstack_langchain.rules.approval_rules import ApprovalRules
from interpstack_langchain.tools.tool_names import CallableTools


def _callable(*names: str) -> CallableTools:
    return CallableTools(frozenset(names))


def _sibling(**rules: Any) -> HumanInTheLoopMiddleware[Any, Any, Any]:
    return HumanInTheLoopMiddleware(rules)


def test_a_name_of_the_interpreter_is_not_decided_by_siblings() -> None:
    one, two = _sibling(pay=True, mail=True), _sibling(mail=True)
    rules = ApprovalRules.of({"pay": False}).beside([one, object(), two], _callable("pay", "mail"))
    assert rules.policies("pay") == []
    assert rules.policies("mail") == [one, two]
    assert rules.policies("other") == []
    assert rules


@pytest.mark.parametrize(
    ("own", "sibling"), [(None, {"other": True}), ({"pay": False}, {"pay": True}), (None, {})]
)
def test_rules_about_nothing_that_code_can_call_cost_nothing(own: Any, sibling: Any) -> None:
    assert not ApprovalRules.of(own).beside([_sibling(**sibling)], _callable("pay"))
