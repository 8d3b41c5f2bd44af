"""Messages that cannot be read are answered on standard input and output."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp import types
from mcp.shared.message import SessionMessage

from interpstack_mcp.serving.unreadable import AnsweringReader


def fault(line: str) -> Exception:
    with pytest.raises(ValueError) as raised:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    return raised.value


async def answered(error: Exception) -> types.JSONRPCError:
    """What the client gets for an unreadable message; the message after it comes through."""
    sender, read = anyio.create_memory_object_stream[Any](2)
    write, answers = anyio.create_memory_object_stream[Any](2)
    ping = SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=9, method="ping"))
    with sender, write, answers:
        await sender.send(error)
        await sender.send(ping)
        async with AnsweringReader(read, write) as reader:
            assert await anext(reader) is ping
            sender.close()
            assert [item async for item in reader] == []
        message = answers.receive_nowait().message
        assert isinstance(message, types.JSONRPCError)
        return message


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ('{"jsonrpc":"2.0","id":"x","method":"m","params":{"code":"\\ud800"}}', "x"),
        ('{"jsonrpc":"2.0","id":7,"method":"m","params":{"code":"\\ud800"}}', 7),
        ('{"jsonrpc":"2.0","id":true,"method":"m","params":"\\ud800"}', None),
        ('{"jsonrpc":"2.0","id":"a\\u0000","method":"m","params":"\\ud800"}', None),
        ('"\\ud800"', None),
        ("{", None),
        ("", None),
        ("[" * 100_000, None),
        ("1" * 5000, None),
    ],
)
async def test_what_is_not_json(line: str, id_: Any) -> None:
    answer = await answered(fault(line))
    assert (answer.id, answer.error.code) == (id_, types.PARSE_ERROR)
    assert answer.error.message.startswith("the message is not JSON: Invalid JSON: ")


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ('{"jsonrpc":"2.0","id":"x","method":7}', "x"),
        ('{"jsonrpc":"1.0","id":"x","method":"ping"}', "x"),
        ('{"id":"x","method":"ping"}', "x"),
        ('{"jsonrpc":"2.0","id":5,"method":"m","params":["p"]}', 5),
        (f'{{"jsonrpc":"2.0","id":{2**63},"method":7}}', None),
        ("[]", None),
        ("null", None),
    ],
)
async def test_what_is_no_request(line: str, id_: Any) -> None:
    answer = await answered(fault(line))
    assert (answer.id, answer.error.code) == (id_, types.INVALID_REQUEST)
    assert answer.error.message == "the message is no request of JSON-RPC 2.0"


async def test_a_fault_of_another_kind() -> None:
    answer = await answered(OSError("lost"))
    assert (answer.id, answer.error.code) == (None, types.INVALID_REQUEST)
