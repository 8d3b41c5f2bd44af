"""Messages of a server, checked before the SDK acts on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp.types import ElicitRequest, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from interpstack_mcp.connections.received import ReceivedMessages, checked_messages
from interpstack_mcp.limits import McpLimits


def _notification(method: str, **params: Any) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method=f"notifications/{method}", params=params)


async def _received(*messages: Any) -> list[Any]:
    sender, receiver = anyio.create_memory_object_stream[Any](len(messages))
    for message in messages:
        sender.send_nowait(SessionMessage(message))
    sender.close()

    @asynccontextmanager
    async def transport() -> AsyncIterator[tuple[Any, Any]]:
        yield receiver, None

    async with (
        checked_messages(transport(), ReceivedMessages(McpLimits(blocks=2))) as (incoming, _),
        incoming,
    ):
        return [item.message async for item in incoming]


async def test_notifications_of_which_something_comes_are_handed_on() -> None:
    heard = [_notification("progress", progressToken=1, progress=0.5)]
    heard += [_notification(f"{one}/list_changed") for one in ("tools", "prompts", "resources")]
    heard += [_notification("resources/updated", uri="a:b")]
    heard += [_notification("elicitation/complete", elicitationId="a")]
    assert await _received(*heard) == heard


@pytest.mark.parametrize(
    "message",
    [
        _notification("progress", progressToken=None, progress=1),
        _notification("progress", progressToken=1, progress="much"),
        _notification("message", level="loud", data=1),
        _notification("resources/updated", uri=1),
        _notification("made/up"),
    ],
)
async def test_other_notifications_are_dropped(
    message: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert await _received(message) == []
    assert not caplog.records


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
async def test_a_notification_with_a_number_that_json_lacks_is_dropped_and_logged_once(
    number: float, caplog: pytest.LogCaptureFixture
) -> None:
    progress = _notification("progress", progressToken=1, progress=number)
    message = _notification("message", level="info", data={"a": [1, number]})
    sound = _notification("message", level="info", data={"a": [1, 2.5]})
    assert await _received(message, progress, sound) == [sound]
    (record,) = caplog.records
    assert "notifications/message" in record.getMessage()
    assert "params.data.a.1 is no number of JSON" in record.getMessage()


async def test_a_question_with_a_number_that_json_lacks_is_one_that_the_sdk_refuses() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number", "maximum": float("inf")}}}
    params = {"message": "How much?", "requestedSchema": schema}
    asked = JSONRPCRequest(jsonrpc="2.0", id=1, method="elicitation/create", params=params)
    (received,) = await _received(asked)
    assert received.id == 1
    with pytest.raises(ValueError, match="message"):
        ElicitRequest.model_validate({"method": received.method, "params": received.params})


async def test_a_result_with_too_many_blocks_is_an_error() -> None:
    results = [{"content": [{"type": "text", "text": ""}] * count} for count in (2, 3)]
    responses = [JSONRPCResponse(jsonrpc="2.0", id=1, result=result) for result in results]
    accepted, refused = await _received(*responses)
    assert accepted == responses[0]
    assert refused.error.message == "the result has more than 2 content blocks (McpLimits.blocks)"


async def test_a_request_is_not_cancelled_by_an_id_of_another_type() -> None:
    asked = JSONRPCRequest(jsonrpc="2.0", id=1, method="roots/list")
    other, own = _notification("cancelled", requestId="1"), _notification("cancelled", requestId=1)
    assert await _received(asked, other, own) == [asked, own]
