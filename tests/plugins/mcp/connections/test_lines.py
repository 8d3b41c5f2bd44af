"""Lines of a server's output as messages, and messages as lines of its input."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest

from interpstack_mcp.connections import lines
from interpstack_mcp.connections.lines import IncomingLines, OutgoingLines
from interpstack_mcp.connections.messages import read_message
from interpstack_mcp.limits import McpLimits


def _message(line: bytes) -> Any:
    found = read_message(line)
    assert not isinstance(found, Exception)
    return found.message


def _incoming(*methods: str) -> tuple[IncomingLines, asyncio.StreamReader, list[str]]:
    reader, ends = asyncio.StreamReader(limit=1000), list[str]()
    for method in methods:
        reader.feed_data(b'{"jsonrpc": "2.0", "method": "%s"}\n' % method.encode())
    return IncomingLines(reader, McpLimits(message_bytes=1000), ends.append), reader, ends


async def test_messages_come_in_their_order_until_the_server_ends() -> None:
    incoming, reader, ends = _incoming("a", "b")
    assert (await incoming.receive()).message.method == "a"
    reader.feed_eof()
    assert [one.message.method async for one in incoming] == ["b"]
    assert ends == [""]
    with pytest.raises(anyio.EndOfStream):
        await incoming.receive()
    await incoming.aclose()
    assert ends == [""]


async def test_a_message_that_is_too_large_is_the_last(caplog: pytest.LogCaptureFixture) -> None:
    incoming, reader, ends = _incoming("a", "b" * 1000, "c")
    with caplog.at_level(logging.WARNING, "interpstack.mcp"):
        assert [one.message.method async for one in incoming] == ["a"]
    text = "a message of the server has more than 1000 bytes (McpLimits.message_bytes)"
    assert ends == [text]
    assert f"an MCP connection is closed: {text}" in caplog.text
    assert not reader.at_eof()


async def test_other_tasks_go_on_between_many_messages() -> None:
    count, turns = 10 * lines._IN_A_ROW, 0
    incoming, _, _ = _incoming(*(f"n/{n}" for n in range(count)))

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    for _ in range(count):
        await incoming.receive()
    task.cancel()
    assert turns >= 9


class _Writer:
    """The input of a server, which reads when it is told to."""

    def __init__(self) -> None:
        self.written: list[list[str]] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.lost = False

    def write(self, data: bytes) -> None:
        self.written.append([_message(line).method for line in data.splitlines()])

    def is_closing(self) -> bool:
        return self.lost

    async def drain(self) -> None:
        if self.lost:
            raise ConnectionResetError
        await self.reads.wait()


def _outgoing() -> tuple[OutgoingLines, _Writer]:
    writer: Any = _Writer()
    return OutgoingLines(writer), writer


def _named(method: str) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=method))


async def test_the_first_message_is_written_at_once_and_more_of_the_same_turn_together() -> None:
    outgoing, writer = _outgoing()
    await outgoing.send(_named("alone"))
    assert writer.written == [["alone"]]
    await asyncio.sleep(0)
    names = [f"n/{n}" for n in range(2 * lines._AT_ONCE + 3)]
    for name in names:
        await outgoing.send(_named(name))
    await asyncio.sleep(0)
    assert [one for some in writer.written[1:] for one in some] == names
    assert [len(some) for some in writer.written[1:]] == [1, lines._AT_ONCE, lines._AT_ONCE, 2]
    await outgoing.send(_named("later"))
    assert writer.written[-1] == ["later"]


async def test_messages_that_wait_are_written_before_the_stream_closes() -> None:
    outgoing, writer = _outgoing()
    async with outgoing:
        await outgoing.send(_named("a"))
        await outgoing.send(_named("b"))
    assert writer.written == [["a"], ["b"]]
    with pytest.raises(anyio.ClosedResourceError):
        await outgoing.send(_named("c"))
    await asyncio.sleep(0)
    assert writer.written == [["a"], ["b"]]


async def test_a_request_waits_while_the_server_does_not_read_and_is_gone_with_its_sender() -> None:
    outgoing, writer = _outgoing()
    writer.reads.clear()
    sending = [
        asyncio.ensure_future(
            outgoing.send(SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=n, method=f"n/{n}")))
        )
        for n in range(3)
    ]
    await asyncio.sleep(0)
    sending[1].cancel()
    await asyncio.sleep(0)
    assert writer.written == []
    assert [one.done() for one in sending] == [False, True, False]
    await outgoing.send(_named(lines._CANCELLED))  # holds nobody up
    writer.reads.set()
    await asyncio.gather(sending[0], sending[2])
    await asyncio.sleep(0)
    assert [one for some in writer.written for one in some] == [lines._CANCELLED, "n/0", "n/2"]


@pytest.mark.parametrize(("name", "count"), [("n", 0), (lines._CANCELLED, 2)])
async def test_more_than_some_cancels_wait_for_the_server_too(
    name: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_CANCELS", 2)
    outgoing, writer = _outgoing()
    writer.reads.clear()
    for _ in range(count):
        await outgoing.send(_named(name))
    sending = asyncio.ensure_future(outgoing.send(_named(name)))
    await asyncio.sleep(0)
    assert not sending.done()
    await outgoing.aclose()
    writer.reads.set()
    with pytest.raises(anyio.ClosedResourceError):
        await sending
    assert sum(map(len, writer.written)) == count


async def test_a_large_message_waits_for_no_others() -> None:
    outgoing, writer = _outgoing()
    large = "n" * lines._LARGE_BYTES
    for name in ("a", "b", large, "c"):
        await outgoing.send(_named(name))
    assert writer.written == [["a"], ["b", large]]
    outgoing.close()
    assert writer.written[2:] == [["c"]]


@pytest.mark.parametrize("name", ["n", lines._CANCELLED])
async def test_no_message_goes_to_a_server_that_has_closed_its_input(name: str) -> None:
    outgoing, writer = _outgoing()
    writer.lost = True
    with pytest.raises(anyio.BrokenResourceError):
        await outgoing.send(_named(name))
    assert writer.written == []
