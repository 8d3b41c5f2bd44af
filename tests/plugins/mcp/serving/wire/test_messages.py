"""Messages of clients, read before the SDK acts on them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp import types

from interpstack_mcp.serving.wire.messages import RefusedMessage, read_message


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
        ("1" * 5000 + "e", None),
    ],
)
def test_what_is_not_json(line: str, id_: Any) -> None:
    message = read_message(line)
    assert isinstance(message, RefusedMessage)
    assert (message.answer.id, message.answer.error.code) == (id_, types.PARSE_ERROR)
    assert message.answer.error.message.startswith("the message is not JSON: ")


@pytest.mark.parametrize(
    ("line", "id_"),
    [
        ('{"jsonrpc":"2.0","id":"x","method":7}', "x"),
        ('{"jsonrpc":"1.0","id":"x","method":"ping"}', "x"),
        ('{"id":"x","method":"ping"}', "x"),
        ('{"jsonrpc":"2.0","id":5,"method":"m","params":["p"]}', 5),
        (f'{{"jsonrpc":"2.0","id":{2**63},"method":7}}', None),
        ('{"jsonrpc":"2.0","id":5}', None),  # perhaps an answer to a request of ours
        ("null", None),
    ],
)
def test_what_is_no_request(line: str, id_: Any) -> None:
    message = read_message(line)
    assert isinstance(message, RefusedMessage)
    assert (message.answer.id, message.answer.error.code) == (id_, types.INVALID_REQUEST)
    assert message.answer.error.message == "the message is not a request of JSON-RPC 2.0"


@pytest.mark.parametrize("id_", ["1.5", "1.0", "null", "true", "[1]", "{}"])
@pytest.mark.parametrize("method", ["tools/call", "notifications/cancelled"])
def test_an_id_that_mcp_does_not_allow(id_: str, method: str) -> None:
    message = read_message(f'{{"jsonrpc":"2.0","id":{id_},"method":"{method}"}}')
    assert isinstance(message, RefusedMessage)
    assert (message.answer.id, message.answer.error.code) == (None, types.INVALID_REQUEST)
    assert message.answer.error.message.startswith("the id of a request is a text or an integer")


@pytest.mark.parametrize("id_", [1, "1", "a"])
@pytest.mark.parametrize(
    "response",
    [
        '"result":null',
        '"result":[]',
        '"error":null',
        '"error":{"code":"x","message":"m"}',
        '"error":{"code":1,"message":"\\ud800"}',
        '"result":{"action":"\\udfff"}',
    ],
)
def test_a_malformed_response_ends_the_request_that_waits_for_it(id_: Any, response: str) -> None:
    message = read_message(f'{{"jsonrpc":"2.0","id":{json.dumps(id_)},{response}}}')
    assert isinstance(message, types.JSONRPCError)
    assert message.id == id_
    assert message.error.message == "the client's answer is malformed"


def test_a_client_without_integers_is_understood() -> None:
    message = read_message('{"jsonrpc":"2.0","id":1.0,"result":{"action":"accept"}}')
    assert isinstance(message, types.JSONRPCError)
    assert message.id == 1


@pytest.mark.parametrize("id_", ['"id":1.5,', '"id":[1],', '"id":true,', ""])
def test_a_response_to_nothing_is_dropped(id_: str) -> None:
    assert read_message(f'{{"jsonrpc":"2.0",{id_}"result":null}}') is None


def test_messages_of_the_protocol() -> None:
    for sent in (
        types.JSONRPCRequest(jsonrpc="2.0", id="1", method="ping"),
        types.JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"),
        types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"a": 1}),
        types.JSONRPCError(
            jsonrpc="2.0", id=None, error=types.ErrorData(code=1, message="no", data=[1])
        ),
    ):
        assert read_message(sent.model_dump_json(exclude_unset=True)) == sent


def test_a_batch_is_refused_and_each_of_its_requests_gets_an_error() -> None:
    ping = {"jsonrpc": "2.0", "method": "ping"}
    batch = [
        {**ping, "id": 1},
        ping,
        {"jsonrpc": "2.0", "id": 2, "result": {}},
        {**ping, "id": "x"},
    ]
    message = read_message(json.dumps(batch))
    assert isinstance(message, RefusedMessage)
    assert [one.id for one in (message.answer, *message.each)] == [None, 1, "x"]
    text = "a batch (a JSON array) is not accepted; send each message by itself"
    assert {one.error.message for one in (message.answer, *message.each)} == {text}
    many = read_message(json.dumps([{**ping, "id": n} for n in range(1000)]))
    assert isinstance(many, RefusedMessage)
    assert len(many.each) == 100
    empty = read_message("[]")
    assert isinstance(empty, RefusedMessage)
    assert (empty.answer.id, empty.each) == (None, ())
