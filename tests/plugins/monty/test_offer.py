"""Tests of interpstack_monty.offer."""

from __future__ import annotations

from typing import Any

from interpstack import Bridge, BridgeSet
from interpstack_monty.offer import offered, reachable, roots, tree


async def _nothing(value: Any = None) -> None:
    return None


def bridges(*names: str, hidden: str = "") -> BridgeSet:
    made = [Bridge(name=name, handler=_nothing, hidden=name == hidden) for name in names]
    return BridgeSet({bridge.name: bridge for bridge in made})


def test_code_reaches_what_it_can_name() -> None:
    named = ("task", "tools.pay", "tools.class", "tools.hidden")
    made = bridges(*named, hidden="tools.hidden")
    assert [bridge.name for bridge in reachable(made)] == ["task", "tools.pay"]


def test_namespaces_hold_bridges_and_namespaces() -> None:
    made = bridges("task", "tools.pay", "tools.money.send")
    found = tree(made)
    assert list(found) == ["task", "tools"]
    assert found["task"].name == "task"
    assert found["tools"]["money"]["send"].name == "tools.money.send"


def test_the_same_offer_is_the_same_text() -> None:
    made = bridges("task", "tools.pay", "tools.send")
    text = offered(made, 1000)
    assert text == offered(bridges("task", "tools.pay", "tools.send"), 1000)
    assert text.splitlines() == [
        'task = __interpstack_bind__("task", None, 1000)',
        'tools = __interpstack_bind__("tools", {"pay": None, "send": None}, 1000)',
    ]
    assert offered(made, 999) != text
    assert offered(bridges("task", "tools.pay"), 1000) != text


def test_the_offer_says_which_bridges_take_arguments_by_position() -> None:
    made = BridgeSet(
        {"a.b": Bridge(name="a.b", handler=_nothing, raw=True, positional=True)},
    )
    assert offered(made, 1000) == 'a = __interpstack_bind__("a", {"b": True}, 1000)'


def test_the_names_that_it_binds_can_be_read_from_it() -> None:
    assert roots(offered(bridges("task", "tools.pay", "tools.send"), 10)) == {"task", "tools"}
    assert roots("") == frozenset()
