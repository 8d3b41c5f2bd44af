"""The `mcpServers` JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_mcp.configuration import HttpServer, StdioServer, read_servers


def test_reads_a_file_of_the_usual_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    path = tmp_path / "servers.json"
    content = {
        "mcpServers": {
            "time": {
                "type": "stdio",
                "command": "uvx",
                "args": ["mcp-server-time", "${ZONE:-UTC}"],
            },
            "web": {
                "type": "streamable-http",
                "url": "https://example.org/mcp",
                "headers": {"Authorization": "Bearer ${TOKEN}"},
                "tools": ["search"],
            },
        },
        "others": 1,
    }
    path.write_text(json.dumps(content))
    time, web = read_servers(path)
    assert time == StdioServer(name="time", command="uvx", args=("mcp-server-time", "UTC"))
    assert isinstance(web, HttpServer)
    assert web.headers == {"Authorization": "Bearer secret"}
    assert (time.tools, web.tools) == (None, {"search"})
    assert "secret" not in repr(web)


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({}, "either a 'command' to start or a 'url' to reach; got neither"),
        ({"command": "a", "url": "http://b"}, "got both"),
        ({"command": "a", "arg": []}, "has the field 'arg'; it takes command, args, env, cwd"),
        ({"comand": "a", "args": []}, "got neither; did you mean 'command' in place of 'comand'?"),
        ({"URL": "http://a"}, "got neither; did you mean 'url' in place of 'URL'?"),
        ({"command": "a", "arg": []}, "; did you mean 'args' in place of 'arg'?"),
        ({"url": "http://a", "header": {}}, "; did you mean 'headers' in place of 'header'?"),
        ({"command": "a", "args": "b"}, "args takes a list of strings; got 'b'"),
        ({"command": "a", "env": {"K": 1}}, "env takes strings by name"),
        ({"command": ""}, "command takes a non-empty string without NUL; got ''"),
        ({"command": "a\0"}, "command takes a non-empty string without NUL"),
        ({"command": "${NO_SUCH_VARIABLE}"}, "variable NO_SUCH_VARIABLE, which is not set"),
        ({"url": "ftp://b"}, "url takes an address"),
        ({"url": "http://b", "type": "sse"}, "the transport 'sse' is deprecated"),
        ({"url": "http://b", "type": "stdio"}, "has the type 'stdio', which takes command"),
        ("uvx", "takes an object"),
    ],
)
def test_a_wrong_server_is_refused(server: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_servers({"mcpServers": {"a": server}})
    assert message in str(refused.value)
    assert "server 'a'" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is not JSON"),
        ("[]", "takes an object"),
        ("{}", "takes servers by name under 'mcpServers'"),
        ("[" * 100_000, "is not JSON"),
        (" " * 2**20 + "{}", "is larger than"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "servers.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigurationError, match=r"servers\.json") as refused:
        read_servers(path)
    assert message in str(refused.value)


def test_auth_is_for_servers_that_are_reached() -> None:
    given = {"mcpServers": {"a": {"command": "a"}, "b": {"url": "http://b"}}}
    auth = object()
    assert read_servers(given, {"b": auth})[1].auth is auth  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="'a', which is not a server"):
        read_servers(given, {"a": auth})
