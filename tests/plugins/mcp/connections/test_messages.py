"""Messages of a server, and answers in another form than MCP's."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCResponse

from interpstack_mcp.connections.failures import Rejected, failure_in
from interpstack_mcp.connections.messages import read_message


def _message(line: bytes) -> Any:
    found = read_message(line)
    assert not isinstance(found, Exception)
    return found.message


@pytest.mark.parametrize("line", [b"hello", b"[]", b'{"level": 30, "id": 1}', b"\xff", b"5"])
def test_other_output_is_passed_over(line: bytes) -> None:
    assert isinstance(read_message(line), ValueError)


def test_halves_of_characters_do_not_cost_an_answer() -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "cut \\ud83d"}}'
    assert _message(line).result == {"text": "cut \N{REPLACEMENT CHARACTER}"}


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (b'"result": 5', "its result is 5"),
        (b'"result": null', "its result is null"),
        (b'"error": {"code": "x", "message": 5}', 'its error is {"code": "x", "message": 5}'),
        (b'"error": "no quota"', 'its error is "no quota"'),
        (b'"error": "%s"' % (b"x" * 1000), f'its error is "{"x" * 299}…'),
    ],
    ids=lambda one: one[:30] if isinstance(one, str) else "",
)
def test_a_malformed_answer_is_the_error_of_its_request(rest: bytes, why: str) -> None:
    message = _message(b'{"jsonrpc": "2.0", "id": 7, %s}' % rest)
    failure = failure_in(MCPError.from_jsonrpc_error(message))
    assert message.id == 7
    assert isinstance(failure, Rejected)
    assert str(failure) == f"it is malformed: {why}"


def test_an_answer_under_a_number_with_a_fraction_part_ends_its_request() -> None:
    message = _message(b'{"jsonrpc": "2.0", "id": 7.0, "result": {}}')
    assert message.id == 7
    assert isinstance(failure_in(MCPError.from_jsonrpc_error(message)), Rejected)
    for line in (
        b'{"jsonrpc": "2.0", "id": 7.5, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1e999}',
    ):
        assert isinstance(read_message(line), ValueError)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc": "2.0", "id": 7, "result": {"a": %s}}' % (b"[" * 100_000),
        b'{"jsonrpc": "2.0", "id": 7, "result": {"a": %s}}' % (b"9" * 5000),
        b'{"jsonrpc": "2.0", "id": 7, }',
        b'{"jsonrpc":"2.0","id":"7","result":{"a":"cut',
        b'{"id": 7, "jsonrpc": "2.0", "error": {"code"',
        b'{"result": {"a": nul}, "id": 7, "jsonrpc": "2.0"}',
    ],
)
def test_an_answer_that_is_not_json_is_the_failure_of_its_request(line: bytes) -> None:
    message = _message(line)
    assert (message.id, message.error.message) == (7, "it is not JSON")


@pytest.mark.parametrize(
    "line",
    [
        b'DEBUG sent {"jsonrpc": "2.0", "id": 7, "result": {}}',
        b'{"level": "debug", "jsonrpc": "2.0", "id": 7}',
        b'{"level": "debug", "sent": "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 7}"}',
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {cut',
        b"{'jsonrpc': '2.0', \"jsonrpc\": 7}",
        b'"jsonrpc"',
        b'{"level": "info", "message": "jsonrpc", "jsonrpc"',
    ],
)
def test_a_log_that_contains_messages_is_passed_over(line: bytes) -> None:
    assert isinstance(read_message(line), ValueError)


@pytest.mark.parametrize("id_", [b'"id": null, ', b""])
def test_an_answer_without_an_id_keeps_its_error_or_becomes_a_failure(id_: bytes) -> None:
    error = _message(b'{"jsonrpc": "2.0", %s"error": {"code": -5, "message": "no quota"}}' % id_)
    assert (error.id, error.error.code, error.error.message) == (None, -5, "no quota")
    failed = _message(b'{"jsonrpc": "2.0", %s"result": {"a": 1}}' % id_)
    assert failed.id is None
    failure = failure_in(MCPError.from_jsonrpc_error(failed))
    assert str(failure) == 'it has no id, and its result is {"a": 1}'


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400", "-1E+400", "9" * 400 + ".0"])
@pytest.mark.parametrize(
    ("part", "seen"),
    [
        (
            '"result": {"structuredContent": {"a": [1, {"b": %s}]}}',
            "result.structuredContent.a.1.b",
        ),
        (
            '"error": {"code": 1, "message": "too hot", "data": [%s]}',
            "error.data.0 is no number of JSON, which has no NaN, no Infinity and nothing beyond "
            "1.8e308; the error is: too hot",
        ),
    ],
)
def test_an_answer_with_a_number_that_json_cannot_carry_is_refused(
    number: str, part: str, seen: str
) -> None:
    found = read_message(f'{{"jsonrpc": "2.0", "id": 7, {part % number}}}')
    assert isinstance(found, SessionMessage)
    assert isinstance(found.message, JSONRPCError)
    assert found.message.id == 7
    failure = failure_in(MCPError.from_error_data(found.message.error))
    assert isinstance(failure, Rejected)
    assert seen in str(failure)


@pytest.mark.parametrize("value", ['"NaN"', "1e300", "1e-400", '"1e999"', "-0.0", "9" * 400])
def test_an_answer_whose_numbers_are_finite_is_accepted(value: str) -> None:
    found = read_message(f'{{"jsonrpc": "2.0", "id": 7, "result": {{"a": {value}}}}}')
    assert isinstance(found, SessionMessage)
    assert isinstance(found.message, JSONRPCResponse)
