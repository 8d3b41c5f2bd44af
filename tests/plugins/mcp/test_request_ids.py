"""Cancellations whose ids the SDK takes for those of other requests."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.types import JSONRPCNotification, JSONRPCRequest

from interpstack_mcp import request_ids
from interpstack_mcp.request_ids import NumericTexts


def request(id_: str | int) -> JSONRPCRequest:
    return JSONRPCRequest(jsonrpc="2.0", id=id_, method="tools/call")


def cancelled(id_: Any) -> JSONRPCNotification:
    params = {"requestId": id_}
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)


@pytest.mark.parametrize(
    ("open_", "named", "allowed"),
    [
        ([1], 1, True),
        ([1], "1", False),
        ([1], " 1", False),
        (["1"], "1", True),
        (["1"], 1, False),
        (["01"], "1", False),
        (["1", 1], 1, True),
        (["1", 1], "1", False),
        ([1, "1"], "1", True),
        (["a"], "a", True),
        (["1"], True, True),  # the SDK takes neither a truth value nor a list for an id
        (["1"], [1], True),
    ],
)
def test_only_the_request_of_that_id_is_cancelled(
    open_: list[str | int], named: Any, allowed: bool
) -> None:
    ids = NumericTexts()
    for one in open_:
        assert ids.allows(request(one))
    assert ids.allows(cancelled(named)) is allowed


def test_sessions_have_ids_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_ids, "_MOST", 2)
    ids = NumericTexts()
    ids.allows(request("1"), "one")
    assert ids.allows(cancelled("1"), "one")
    assert not ids.allows(cancelled("1"), "two")
    for later in ("2", "3"):  # what is remembered is bounded
        ids.allows(request(later), "one")
    assert not ids.allows(cancelled("1"), "one")
    assert ids.allows(cancelled("3"), "one")


def test_other_messages_pass() -> None:
    ids = NumericTexts()
    for method in ("notifications/initialized", "notifications/cancelled"):
        assert ids.allows(JSONRPCNotification(jsonrpc="2.0", method=method))
