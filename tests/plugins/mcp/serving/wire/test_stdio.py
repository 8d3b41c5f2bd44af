"""A server on standard input and output, and a client that writes each message itself."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from io import BytesIO, TextIOWrapper
from typing import Any

import attrs
import pytest
import pytest_asyncio

from interpstack_mcp.serving.wire.stdio import serve_stdio

PAY = "await tools.pay({to: 'Ada'})"
SECONDS = 60


@attrs.define
class Wire:
    """A client, which has initialized its session.

    Attributes:
        served: The server.
    """

    served: Any
    _writer: int
    _lines: asyncio.StreamReader

    def send(self, line: str) -> None:
        os.write(self._writer, line.encode() + b"\n")

    def request(self, id_: Any, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        self.send(json.dumps(message))

    def notify(self, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    def run(self, id_: Any, code: str) -> None:
        self.request(id_, "tools/call", name="run_code", arguments={"code": code})

    async def answer(self) -> Any:
        """The next message that is no notification."""
        while True:
            line = await asyncio.wait_for(self._lines.readline(), SECONDS)
            message = json.loads(line)
            if "id" in message:
                return message


@pytest_asyncio.fixture
async def wire(serve: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    served = serve("tools.pay")
    reading, writer = os.pipe()
    answers, writing = os.pipe()
    lines = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    with (
        os.fdopen(reading) as stdin,
        os.fdopen(writing, "w") as stdout,
        os.fdopen(answers, "rb") as source,
    ):
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        protocol = asyncio.StreamReaderProtocol(lines)
        transport, _ = await loop.connect_read_pipe(lambda: protocol, source)
        task = asyncio.ensure_future(serve_stdio(served.server))
        made = Wire(served, writer, lines)
        made.request(
            "first",
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={"elicitation": {}},
            clientInfo={"name": "test", "version": "1"},
        )
        assert (await made.answer())["id"] == "first"
        made.notify("notifications/initialized")
        yield made
        os.close(writer)
        await asyncio.wait_for(task, SECONDS)
        transport.close()


async def test_a_request_is_not_cancelled_by_an_id_of_another_type(wire: Wire) -> None:
    wire.run(1, "await tools.slow({text: 'a'})")
    await asyncio.wait_for(wire.served.begun.wait(), SECONDS)
    wire.notify("notifications/cancelled", requestId="1")
    wire.request(2, "ping")  # when it is answered, the notification has been read
    assert (await wire.answer())["id"] == 2
    wire.request(3, "ping")
    assert (await wire.answer())["id"] == 3
    assert wire.served.paid == []
    wire.notify("notifications/cancelled", requestId=1)
    while wire.served.paid != ["ended a"]:
        wire.request(4, "ping")
        assert (await wire.answer())["id"] == 4


@pytest.mark.parametrize(
    "response",
    [
        '"result":null',
        '"error":{"code":1,"message":"\\ud800"}',
        '"result":{"action":"perhaps"}',
    ],
)
async def test_a_malformed_answer_refuses_the_call_that_waits_for_it(
    wire: Wire, response: str
) -> None:
    wire.run("a", f"try {{ {PAY} }} catch (error) {{ error.message }}")
    question = await wire.answer()
    assert question["method"] == "elicitation/create"
    wire.send(f'{{"jsonrpc":"2.0","id":{question["id"]},{response}}}')
    answer = await wire.answer()
    assert answer["id"] == "a"
    result = answer["result"]["structuredContent"]["result"]
    assert result.startswith("tools.pay was not called: the client")
    assert "malformed" in result or "action is not one of the values" in result
    assert wire.served.paid == []


async def test_what_cannot_be_read_is_answered_and_the_rest_goes_on(wire: Wire) -> None:
    for line, id_ in (
        ("{", None),
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":"x","method":7}', "x"),
    ):
        wire.send(line)
        answer = await wire.answer()
        assert answer["id"] == id_
        assert answer["error"]["code"] in (-32700, -32600)
    wire.send('{"jsonrpc":"2.0","result":{}}')  # a response to nothing
    wire.run(9, "1 + 1")
    assert (await wire.answer())["result"]["structuredContent"]["result"] == "2"


async def test_standard_input_is_empty_for_others_meanwhile(wire: Wire) -> None:
    assert os.read(sys.stdin.fileno(), 10) == b""


async def test_a_process_without_standard_input(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO()))
    await asyncio.wait_for(serve_stdio(serve().server), SECONDS)


async def test_blank_lines_and_a_byte_order_mark_are_passed_over(wire: Wire) -> None:
    for line in ("", "  ", "\r", '\ufeff{"jsonrpc":"2.0","id":9,"method":"ping"}\r'):
        wire.send(line)
    assert (await wire.answer())["id"] == 9


async def test_each_request_of_a_batch_gets_an_error(wire: Wire) -> None:
    ping = {"jsonrpc": "2.0", "method": "ping"}
    wire.send(json.dumps([{**ping, "id": 1}, ping, {**ping, "id": 2}]))
    answers = [await wire.answer(), await wire.answer()]
    assert [(one["id"], "a batch" in one["error"]["message"]) for one in answers] == [
        (1, True),
        (2, True),
    ]


async def test_a_request_before_initialize_is_answered_with_the_reason(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = TextIOWrapper(BytesIO(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'))
    stdout = TextIOWrapper(BytesIO())
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stdout", stdout)
    await serve_stdio(serve().server)
    stdout.seek(0)
    (answer,) = map(json.loads, stdout)
    assert answer["error"]["message"] == "tools/list came before initialize: send initialize first"
