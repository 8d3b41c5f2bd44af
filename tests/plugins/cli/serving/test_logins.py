"""`interpstack mcp login` and `logout`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_config import Notes, free_port, guarded_server

PROGRAM = [sys.executable, "-m", "interpstack"]


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Path]:
    port, file = free_port(), tmp_path / "servers.json"
    reached = {"url": f"http://127.0.0.1:{port}/mcp"}
    given = {"guarded": {**reached, "oauth": True}, "open": reached}
    file.write_text(json.dumps({"mcpServers": given}))
    with guarded_server(port, Notes.empty(tmp_path), "authorization_code"):
        yield file


def test_a_login_serves_later_commands(servers: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    with subprocess.Popen(
        [*PROGRAM, "mcp", "login", str(servers), "guarded", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        address = re.fullmatch(r"Log in here: (\S+)\n", process.stderr.readline())
        assert address
        with urllib.request.urlopen(address[1]) as page:
            assert page.read() == b"You are logged in. You can close this page."
        assert process.stdout.read() == "Logged in at guarded; it lists 1 tool.\n"
        assert process.wait() == 0

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*PROGRAM, *arguments], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    code = "(await mcp.guarded.whoami()).result"
    assert run("run", "--mcp", str(servers), "-e", code) == "somebody who is allowed to\n"
    assert run("mcp", "logout", str(servers), "guarded") == "Removed the login at guarded.\n"
    assert run("mcp", "logout", str(servers), "guarded") == "There was no login at guarded.\n"


@pytest.mark.parametrize("command", ["login", "logout"])
def test_servers_without_a_login_are_refused(run: Any, tmp_path: Path, command: str) -> None:
    file = tmp_path / "servers.json"
    server = {"url": "http://127.0.0.1:9/mcp"}
    file.write_text(
        json.dumps({"mcpServers": {"open": server, "guarded": {**server, "oauth": True}}})
    )
    for name in ("open", "absent"):
        result = run("mcp", command, str(file), name)
        assert result.exit_code == 2
        assert f"has no server '{name}' with a login" in result.stderr
        assert "it has: guarded" in result.stderr


def test_a_server_that_is_not_there_is_named(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    server = {"url": f"http://127.0.0.1:{free_port()}/mcp", "oauth": True}
    file.write_text(json.dumps({"mcpServers": {"guarded": server}}))
    result = run("mcp", "login", str(file), "guarded", "--no-browser")
    assert result.exit_code == 2
    assert "the login at 'guarded' failed: ConnectError" in result.stderr
