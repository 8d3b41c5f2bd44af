"""Lines of a server's output as messages."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_mcp.connections.lines import BrokenMessage, read_line


def _message(line: bytes) -> Any:
    found = read_line(line)
    assert not isinstance(found, Exception)
    return found.message


@pytest.mark.parametrize("line", [b"hello", b"[]", b'{"level": 30, "id": 1}', b"\xff", b"5"])
def test_other_output_is_passed_over(line: bytes) -> None:
    assert isinstance(read_line(line), ValueError)


def test_halves_of_characters_do_not_cost_an_answer() -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "result": {"text": "cut \\ud83d"}}'
    assert _message(line).result == {"text": "cut ?"}


@pytest.mark.parametrize(
    "rest", [b'"result": 5', b'"result": null', b'"error": {"code": "x", "message": 5}']
)
def test_a_malformed_answer_is_the_error_of_its_request(rest: bytes) -> None:
    message = _message(b'{"jsonrpc": "2.0", "id": 7, %s}' % rest)
    assert (message.id, message.error.message) == (7, "the server's answer is malformed")


def test_an_answer_under_a_number_with_a_fraction_part_ends_its_request() -> None:
    message = _message(b'{"jsonrpc": "2.0", "id": 7.0, "result": {}}')
    assert (message.id, message.error.message) == (7, "the server's answer is malformed")
    for line in (
        b'{"jsonrpc": "2.0", "id": 7.5, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1e999}',
    ):
        assert isinstance(read_line(line), ValueError)


@pytest.mark.parametrize(
    "rest", [b'"result": {"a": %s}' % (b"[" * 100_000), b'"result": {"a": %s}' % (b"9" * 5000), b""]
)
def test_a_message_that_cannot_be_read_is_broken(rest: bytes) -> None:
    with pytest.raises(BrokenMessage):
        read_line(b'{"jsonrpc": "2.0", "id": 7, %s}' % rest)


@pytest.mark.parametrize("code", [-32000, -32001])
def test_no_code_of_a_server_tells_that_the_connection_is_lost(code: int) -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "error": {"code": %d, "message": "no"}}' % code
    message = _message(line)
    assert (message.error.code, message.error.message) == (-32603, "no")
