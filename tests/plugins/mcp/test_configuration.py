"""The `mcpServers` JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interpstack import ConfigurationError
from interpstack_mcp.configuration import HttpServer, StdioServer, read_servers
from interpstack_mcp.oauth.settings import OAuth


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
        ({"command": "a", "arg": []}, "has the field 'arg'; it takes command, args, env, envFile"),
        ({"comand": "a", "args": []}, "got neither; did you mean 'command' in place of 'comand'?"),
        ({"URL": "http://a"}, "got neither; did you mean 'url' in place of 'URL'?"),
        ({"command": "a", "arg": []}, "; did you mean 'args' in place of 'arg'?"),
        ({"url": "http://a", "header": {}}, "; did you mean 'headers' in place of 'header'?"),
        ({"command": "a", "args": "b"}, "args takes a list of strings without NUL; got 'b'"),
        ({"command": "a", "env": {"K": 1}}, "env takes strings by name"),
        ({"command": ""}, "command takes a non-empty string without NUL; got ''"),
        ({"command": "a", "args": ["\0"]}, "args takes a list of strings without NUL"),
        ({"command": "a", "env": {"A=B": "1"}}, "env takes names without '='"),
        ({"command": "a", "env": {"": "1"}}, "env takes names without '='"),
        ({"command": "a", "env": {"A": "\0"}}, "env takes names without '=' and texts without NUL"),
        ({"command": "a", "args": ["${A_B:x}"]}, "uses ${A_B:x}, which is not known here"),
        ({"command": "a", "args": ["${A_B:?x}"]}, "uses ${A_B:?x}, which is not known here"),
        ({"command": "a", "args": ["${A-B}"]}, "uses ${A-B}, which is not known here"),
        ({"command": "a", "args": ["${ A }"]}, "uses ${ A }, which is not known here"),
        ({"command": "a", "args": ["${A:-${B}}"]}, "a variable inside the default of another"),
        ({"command": "a", "type": "stdio", "transport": "http"}, "has the type 'http', which"),
        ({"command": "a\0"}, "command takes a non-empty string without NUL"),
        ({"command": "${NO_SUCH_VARIABLE}"}, "variable NO_SUCH_VARIABLE, which is not set"),
        ({"url": "ftp://b"}, "url takes an address"),
        ({"url": "http://[::1/mcp"}, "url takes an address"),
        ({"url": "http://localhost:99999/mcp"}, "url takes an address"),
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


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "'a'"),
        ('{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {}}', "'mcpServers'"),
        ('{"a": {"command": "x"}, "a": {"command": "y", "disabled": true}}', "'a'"),
        ('{"servers": {"a": {"command": "x"}, /* 1 */ "a": {"command": "y"},}}', "'a'"),
        ('{"mcpServers": {"a": {"command": "x", "env": {"K": "1", "K": "2"}}}}', "'K'"),
    ],
)
def test_a_file_that_names_something_twice_is_refused(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / "servers.json"
    path.write_text(text)
    with pytest.raises(
        ConfigurationError, match=rf"servers\.json: an object names the field {name} twice"
    ):
        read_servers(path)


@pytest.mark.parametrize(
    "content",
    [
        {"mcpServers": {"a": {"command": "x"}}, "servers": {"b": {"command": "y"}}},
        {"mcpServers": {"a": {"command": "x"}}, "mcp": {"servers": {"b": {"command": "y"}}}},
    ],
)
def test_a_file_with_servers_in_two_places_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="has servers under 'mcpServers' and '"):
        read_servers(content)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"headers": {"X-Key": "hidden\n"}}, "the value of the header X-Key must be printable"),
        ({"headers": {"X-Key": "hidden\nX: 1"}}, "the value of the header X-Key must be printable"),
        ({"headers": {"X-Key": "hidden\u20ac"}}, "the value of the header X-Key must be printable"),
        ({"auth": "hidden\n"}, "the value of the header Authorization must be printable"),
        ({"headers": {"X Key": "hidden"}}, "headers take names of ASCII; got 'X Key'"),
        ({"headers": {"X-Key": "hidden", "x-key": "hidden"}}, "headers have 'x-key' twice"),
        ({"headers": {"authorization": "hidden"}, "auth": "hidden"}, "give it once"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(
    fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_servers({"mcpServers": {"a": {"url": "http://a/mcp", **fields}}})
    assert message in str(refused.value)
    assert "hidden" not in str(refused.value)


def test_auth_is_for_servers_that_are_reached() -> None:
    given = {"mcpServers": {"a": {"command": "a"}, "b": {"url": "http://b"}}}
    auth = object()
    assert read_servers(given, {"b": auth})[1].auth is auth  # type: ignore[attr-defined]
    with pytest.raises(ConfigurationError, match="'a', which is not a server"):
        read_servers(given, {"a": auth})


VSCODE = """
{
  // Servers of this folder.
  "inputs": [{"id": "key", "type": "promptString"}],
  "servers": {
    "time": {
      "type": "stdio", "command": "uvx", /* from PyPI */
      "args": ["mcp-server-time", "--url=http://a/*b*/",],
      "envFile": "ENVFILE", "env": {"B": "${env:TOKEN}"}, "dev": {"watch": "src"},
    },
    "web": {"type": "http", "url": "https://example.org/mcp"}, // over HTTP
  },
}
"""


def test_reads_the_file_of_an_editor_with_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    variables = tmp_path / "variables.env"
    variables.write_text("# keys\nA='one two'\nexport B=lost\nC=a=b\n\n")
    path = tmp_path / "mcp.json"
    path.write_text(VSCODE.replace("ENVFILE", str(variables)))
    time, web = read_servers(path)
    assert isinstance(time, StdioServer)
    assert time.args == ("mcp-server-time", "--url=http://a/*b*/")
    assert time.env == {"A": "one two", "B": "secret", "C": "a=b"}
    assert web == HttpServer(name="web", url="https://example.org/mcp")
    ignored = [one.getMessage().partition("ignored: ")[2] for one in caplog.records]
    assert ignored == ["inputs", "dev"]


def test_reads_the_settings_of_an_editor() -> None:
    (one,) = read_servers({"mcp": {"servers": {"a": {"command": "b"}}}, "editor.fontSize": 12})
    assert one == StdioServer(name="a", command="b")


def test_fields_of_other_clients_are_ignored_by_name(caplog: pytest.LogCaptureFixture) -> None:
    cline = {
        "files": {"command": "a", "disabled": False, "autoApprove": ["read"], "timeout": 60},
        "web": {"type": "streamableHttp", "url": "https://a.example", "alwaysAllow": []},
        "off": {"command": "a", "disabled": True},
        "none": {"command": "a", "enabled": False},
    }
    made = read_servers({"mcpServers": cline})
    assert [one.name for one in made] == ["files", "web"]
    assert sorted(one.getMessage() for one in caplog.records) == [
        "mcp: server 'files': fields that mean nothing here are ignored: autoApprove, timeout",
        "mcp: server 'none' is disabled, so it is left out",
        "mcp: server 'off' is disabled, so it is left out",
        "mcp: server 'web': fields that mean nothing here are ignored: alwaysAllow",
    ]
    with pytest.raises(ConfigurationError, match="all servers are disabled"):
        read_servers({"mcpServers": {"off": {"command": "a", "disabled": True}}})


def test_reads_the_servers_of_langchain_without_a_root(tmp_path: Path) -> None:
    auth = httpx2.BasicAuth("a", "b")
    math, web, guarded = read_servers(
        {
            "math": {
                "transport": "stdio",
                "command": "python",
                "args": ["math.py"],
                "env": None,
                "cwd": tmp_path,
            },
            "web": {"transport": "streamable_http", "url": "http://a/mcp", "headers": None},
            "guarded": {"transport": "http", "url": "http://b/mcp", "auth": auth},
        }
    )
    assert math == StdioServer(name="math", command="python", args=("math.py",), cwd=str(tmp_path))
    assert web == HttpServer(name="web", url="http://a/mcp")
    assert isinstance(guarded, HttpServer)
    assert guarded.auth is auth


def test_reads_the_authorization_of_other_clients() -> None:
    client = {"CLIENT_ID": "a", "CLIENT_SECRET": "b", "scopes": ["read"]}
    given = {
        "token": {"url": "http://a/mcp", "auth": "secret"},
        "login": {"url": "http://a/mcp", "auth": "oauth"},
        "client": {"url": "http://a/mcp", "auth": client},
    }
    token, login, own = read_servers({"mcpServers": given})
    assert isinstance(token, HttpServer)
    assert isinstance(login, HttpServer)
    assert isinstance(own, HttpServer)
    assert token.headers == {"Authorization": "Bearer secret"}
    assert "secret" not in repr(token)
    assert login.oauth == OAuth()
    assert own.oauth == OAuth(client_id="a", client_secret="b")


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (
            {"command": "a", "args": ["${input:key}"]},
            r"uses \$\{input:key\}, which is not known here",
        ),
        ({"command": "a", "args": ["${env:NO_SUCH}"]}, "variable NO_SUCH, which is not set"),
        ({"command": "a", "disabled": "no"}, "disabled and enabled take true or false"),
        ({"command": "a", "disabledTools": ["x"]}, "has the field 'disabledTools'"),
        ({"command": "a", "envFile": "no/such.env"}, "envFile .* cannot be read"),
        ({"url": "http://a", "auth": {"CLIENT": "a"}}, "auth takes a bearer token"),
        ({"url": "http://a", "auth": 5}, "auth takes a bearer token"),
        ({"url": "http://a", "transport": "sse"}, "the transport 'sse' is deprecated"),
        ({"url": "http://a", "transport": "websocket"}, "has the type 'websocket'"),
        ({"url": "http://a", "exclude_tags": ["x"]}, "has the field 'exclude_tags'"),
        ({"url": "http://a", "httpx_client_factory": print}, "'httpx_client_factory'"),
    ],
)
def test_what_would_change_a_server_is_not_ignored(server: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_servers({"mcpServers": {"s": server}})
