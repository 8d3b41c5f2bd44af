"""Answers of servers over pipes that do not name their request, and other output."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import JSONRPCNotification, JSONRPCRequest

from interpstack_mcp.connections.failures import Rejected, failure_in
from interpstack_mcp.connections.open_requests import OpenRequests

RESULT: dict[str, Any] = {"content": [{"type": "text", "text": "fine"}]}
NULL_ERROR = {"jsonrpc": "2.0", "id": None, "error": {"code": -5, "message": "no quota"}}


def _line(message: Any, **options: Any) -> bytes:
    return json.dumps(message, **options).encode() + b"\n"


def _answer(id_: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": RESULT}


def _sent(*ids: int, method: str = "tools/call") -> OpenRequests:
    requests = OpenRequests()
    for id_ in ids:
        requests.sent(JSONRPCRequest(jsonrpc="2.0", id=id_, method=method))
    return requests


def _notify(requests: OpenRequests, method: str, **params: Any) -> None:
    requests.sent(JSONRPCNotification(jsonrpc="2.0", method=method, params=params))


def _read(requests: OpenRequests, *lines: bytes) -> list[Any]:
    """The messages of lines; a failure in place of an error that stands for one."""
    read: list[Any] = []
    for item in (item for line in lines for item in requests.read(line)):
        if not isinstance(item, Exception):
            read.append(item.message)
    return read


def _failure(message: Any) -> str:
    failure = failure_in(MCPError.from_jsonrpc_error(message))
    assert isinstance(failure, Rejected)
    return str(failure)


def test_an_error_without_an_id_ends_the_only_open_request() -> None:
    requests = _sent(3)
    (error,) = _read(requests, _line(NULL_ERROR))
    assert (error.id, error.error.code, error.error.message) == (3, -5, "no quota")
    assert requests.notes(0) == ""


def test_a_result_without_an_id_ends_the_only_open_request_as_a_failure() -> None:
    (failed,) = _read(_sent(3), _line(_answer(None)))
    assert failed.id == 3
    assert _failure(failed).startswith('it has no id, and its result is {"content"')


def test_a_stream_of_changes_is_no_request_that_waits() -> None:
    requests = _sent(1, method="subscriptions/listen")
    requests.sent(JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/call"))
    (error,) = _read(requests, _line(NULL_ERROR))
    assert error.id == 2


def test_an_error_without_an_id_ends_none_of_several_requests_and_is_noted() -> None:
    requests = _sent(3, 4)
    (error,) = _read(requests, _line(NULL_ERROR))
    assert error.id is None
    assert requests.notes(0).startswith("an answer without an id, which may belong to several")
    assert "no quota" in requests.notes(0)


def test_an_error_without_an_id_may_answer_a_notification_until_a_later_request_is_answered() -> (
    None
):
    requests = _sent()
    _notify(requests, "notifications/initialized")
    requests.sent(JSONRPCRequest(jsonrpc="2.0", id=1, method="tools/list"))
    assert _read(requests, _line(NULL_ERROR))[0].id is None
    assert _read(requests, _line(_answer(1)))[0].id == 1
    requests.sent(JSONRPCRequest(jsonrpc="2.0", id=2, method="tools/call"))
    assert _read(requests, _line(NULL_ERROR))[0].id == 2


@pytest.mark.parametrize("id_", [999, "abc", 1])
def test_an_answer_with_the_id_of_no_open_request_is_noted(id_: Any) -> None:
    requests = _sent(1, 2)
    _read(requests, _line(_answer(1)))
    assert requests.notes(0) == ""
    _read(requests, _line(_answer(id_)))
    assert requests.notes(0).startswith(f"an answer with the id {id_!r}, which no open request has")
    assert '"fine"' in requests.notes(0)
    assert _read(requests, _line(NULL_ERROR))[0].id == 2


def test_an_answer_to_a_cancelled_request_is_expected() -> None:
    requests = _sent(1, 2)
    _notify(requests, "notifications/cancelled", requestId=1)
    _read(requests, _line(_answer(1)))
    assert requests.notes(0) == ""
    _read(requests, _line(_answer(1)))
    assert "the id 1" in requests.notes(0)


def test_other_output_is_noted_up_to_a_limit_without_control_characters() -> None:
    requests = _sent(1)
    _read(requests, b"\n", *(b"line %d \x1b[31m%s\n" % (n, b"x" * 1000) for n in range(9)))
    notes = requests.notes(0)
    assert [part[:20] for part in notes.split("; ")] == [
        "and more before",
        *(f"other output: line {n}" for n in (6, 7, 8)),
    ]
    assert len(notes) < 1000
    assert notes.isprintable()
    assert requests.notes(float("inf")) == ""


def _shaken(version: str) -> OpenRequests:
    requests = _sent(1, method="initialize")
    _read(requests, _line({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": version}}))
    for id_ in (2, 3):
        requests.sent(JSONRPCRequest(jsonrpc="2.0", id=id_, method="tools/call"))
    return requests


def test_a_batch_is_taken_apart_where_the_protocol_has_batches() -> None:
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
    requests = _shaken("2025-03-26")
    first, notified, second = _read(requests, _line([_answer(2), log, _answer(3)]))
    assert (first.id, first.result, notified.method) == (2, RESULT, "notifications/message")
    assert (second.id, second.result) == (3, RESULT)
    assert requests.notes(0) == ""


def test_a_batch_fails_its_requests_where_the_protocol_has_none() -> None:
    requests = _shaken("2025-06-18")
    first, second = _read(requests, _line([_answer(2), _answer(3)]))
    assert (first.id, second.id) == (2, 3)
    assert _failure(first) == (
        "it came in a batch (a JSON array), which the protocol of 2025-06-18 does not have: "
        f"its result is {json.dumps(RESULT)}"
    )
    _read(requests, _line([_answer(4)]))
    assert "a batch, which the protocol of 2025-06-18 does not have" in requests.notes(0)


@pytest.mark.parametrize("line", [b"[]", b'["jsonrpc"]', b'[{"jsonrpc": 5}]', b'[{"jsonrpc"'])
def test_an_array_that_is_no_batch_is_other_output(line: bytes) -> None:
    requests = _sent(1)
    assert _read(requests, line) == []
    assert requests.notes(0) == f"other output: {line.decode()}"


@pytest.mark.parametrize("size", [10, 200_000])
def test_an_answer_over_several_lines_fails_its_request(size: int) -> None:
    requests = _sent(1, 2)
    whole = _line({**_answer(2), "result": {"text": ["x" * 100] * (size // 100)}}, indent=2)
    (failed,) = _read(requests, *whole.splitlines(keepends=True))
    assert failed.id == 2
    assert _failure(failed).startswith(
        "it has several lines, and a message over pipes is one line: its "
    )
    assert _read(requests, _line(_answer(1)))[0].result == RESULT


def test_an_error_over_several_lines_without_an_id_fails_the_only_request() -> None:
    lines = _line(NULL_ERROR, indent=2).splitlines(keepends=True)
    (failed,) = _read(_sent(1), *lines)
    assert failed.id == 1
    assert _failure(failed).endswith("its error is no quota")


def test_a_log_over_several_lines_ends_nothing() -> None:
    requests = _sent(1)
    lines = [b"{\n", b'  "jsonrpc": "2.0", "level": 5,\n', b"}\n", b"{\n", b"}\n", b"}\n"]
    assert _read(requests, *lines) == []
    assert _read(requests, _line(_answer(1)))[0].id == 1
