"""Servers as processes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification

from interpstack_mcp.configuration import StdioServer
from interpstack_mcp.connections.stdio import ServerOutput, stdio_transport
from interpstack_mcp.limits import McpLimits

ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
MANY = "print('[0' + ',0' * 20 + ']', flush=True)\nimport time; time.sleep(60)"
HUGE = "print('{' * 5000, flush=True)\nimport time; time.sleep(60)"
DEAF = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
print('{"jsonrpc": "2.0", "method": "pids/%d/%d"}' % (os.getpid(), child.pid), flush=True)
time.sleep(600)
"""
SMALL = McpLimits(message_bytes=1000, message_values=10)


def server(code: str) -> StdioServer:
    return StdioServer(name="s", command=sys.executable, args=("-c", code))


async def test_messages_go_both_ways() -> None:
    message = JSONRPCNotification(jsonrpc="2.0", method="hello")
    ended = asyncio.Event()
    async with stdio_transport(server(ECHO), SMALL, ServerOutput("s"), lambda why: ended.set()) as (
        incoming,
        outgoing,
    ):
        await outgoing.send(SessionMessage(message))
        assert (await incoming.receive()).message == message
        assert not ended.is_set()
    assert ended.is_set()


async def test_a_line_that_is_no_message_is_passed_over() -> None:
    async with stdio_transport(server("print('hello')"), SMALL, ServerOutput("s"), str) as (
        incoming,
        _,
    ):
        assert isinstance(await incoming.receive(), ValueError)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (HUGE, "a message of the server has more than .* bytes (McpLimits.message_bytes)"),
        (MANY, "a message of the server holds more than .* values (McpLimits.message_values)"),
    ],
)
async def test_a_message_beyond_bounds_ends_the_connection(code: str, reason: str) -> None:
    ended = asyncio.get_running_loop().create_future()
    async with stdio_transport(server(code), SMALL, ServerOutput("s"), ended.set_result) as (
        incoming,
        _,
    ):
        with pytest.raises(anyio.EndOfStream):
            await asyncio.wait_for(incoming.receive(), 60)
        why = ended.result()
    assert re.match(reason.replace("(", r"\(").replace(")", r"\)"), why)


async def test_standard_error_is_remembered_in_short() -> None:
    output = ServerOutput("s")
    code = "import sys\nfor n in range(9): print('line', n, '\\x1b[31m', file=sys.stderr)"
    async with stdio_transport(server(code), SMALL, output, str) as (incoming, _):
        assert [one async for one in incoming] == []
        while "line 8" not in output.stderr.last_text:  # noqa: ASYNC110 - the other end of a pipe
            await asyncio.sleep(0.01)
    assert output.stderr.last_text == " / ".join(f"line {n} [31m" for n in range(4, 9))


async def test_the_last_lines_of_standard_error_are_shown_and_not_the_first() -> None:
    output = ServerOutput("s")
    code = "import sys\nfor n in range(5): print(n, 'x' * 1000, file=sys.stderr)"
    async with stdio_transport(server(code), SMALL, output, str) as (incoming, _):
        assert [one async for one in incoming] == []
    assert output.said == f"; it wrote: 4 {'x' * 298}"


@pytest.mark.skipif(os.name != "posix", reason="signals")
async def test_a_deaf_server_is_killed_with_its_own_processes() -> None:
    async with stdio_transport(server(DEAF), SMALL, ServerOutput("s"), str) as (incoming, _):
        _, own, child = (await incoming.receive()).message.method.split("/")
    for pid in (own, child):
        for _ in range(200):
            if not alive(int(pid)):
                break
            await asyncio.sleep(0.05)
        assert not alive(int(pid))


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended may wait for whoever reads its status."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii")
        return stat.rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_missing_program_is_an_error() -> None:
    missing: Any = StdioServer(name="s", command="no-such-program")
    with pytest.raises(FileNotFoundError):
        async with stdio_transport(missing, SMALL, ServerOutput("s"), str):
            pass
