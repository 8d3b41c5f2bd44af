"""The usual `mcpServers` JSON, checked: how each server is started or reached."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from interpstack_core import ConfigurationError
from interpstack_core.checks import expect, shown
from interpstack_mcp.oauth.settings import OAuth, read_oauth

__all__ = ["HttpServer", "Server", "StdioServer", "read_servers"]

#: Bytes of a configuration file.
_FILE_BYTES: Final = 2**20
#: `${NAME}` and `${NAME:-value}`, which stand for an environment variable.
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
#: Fields of a server that is a process, and of one that is reached over HTTP.
_STDIO: Final = ("command", "args", "env", "cwd", "tools")
_HTTP: Final = ("url", "headers", "oauth", "tools")
#: Values of the field `type`, and the fields of such servers.
_TYPES: Final = {
    "stdio": _STDIO,
    "http": _HTTP,
    "streamable-http": _HTTP,
    "streamableHttp": _HTTP,
}
_EXAMPLE: Final = '{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}'


@attrs.frozen(kw_only=True)
class Server:
    """One server of a configuration.

    Attributes:
        name: The server's name in the configuration.
        tools: Names of the tools that code may call, as the server has them; `None` for all.
    """

    name: str
    tools: frozenset[str] | None = None


@attrs.frozen(kw_only=True)
class StdioServer(Server):
    """A server that runs as a process and talks on its standard input and output.

    Attributes:
        command: The program.
        args: The program's arguments.
        env: Environment variables beside the few that every server gets, such as `PATH`.
        cwd: The folder to run it in; `None` for the current one.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = attrs.field(factory=dict, hash=False, repr=False)
    cwd: str | None = None


@attrs.frozen(kw_only=True)
class HttpServer(Server):
    """A server that is reached by streamable HTTP.

    Attributes:
        url: The address of its endpoint.
        headers: Headers of every request.
        auth: An `httpx2.Auth`, such as the SDK's `OAuthClientProvider`; `None` for none.
        oauth: How requests are authorized by OAuth, if there is no `auth`; `None` if they are not.
    """

    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict, hash=False, repr=False)
    auth: Any = attrs.field(default=None, eq=False, repr=False)
    oauth: OAuth | None = None


def read_servers(
    given: Mapping[str, Any] | str | Path, auth: Mapping[str, Any] | None = None
) -> tuple[Server, ...]:
    """The servers of a configuration.

    Args:
        given: The path of a JSON file, or its content. `${NAME}` in texts stands for an environment
            variable, `${NAME:-value}` for one that may be missing.
        auth: An `httpx2.Auth` for servers reached over HTTP, by name.

    Raises:
        ConfigurationError: The file cannot be read, or something in it is wrong.
    """
    where, content = ("mcp", given) if isinstance(given, Mapping) else _read(given)
    listed = content.get("mcpServers")
    if not isinstance(listed, Mapping) or not listed:
        raise ConfigurationError(
            f"{where} takes servers by name under 'mcpServers', as in {_EXAMPLE}; "
            f"got {shown(content)}"
        )
    servers = tuple(_server(f"{where}: server {name!r}", name, one) for name, one in listed.items())
    return _with_auth(servers, auth or {})


def _read(given: Any) -> tuple[str, Mapping[str, Any]]:
    expect(given, (str, Path), "mcp takes the path of a JSON file, or its content as a mapping")
    path = Path(given)
    try:
        with path.open("rb") as file:
            data = file.read(_FILE_BYTES + 1)
    except OSError as error:
        reason = error.strerror or error
        raise ConfigurationError(f"{path} cannot be read: {reason}; name a JSON file") from error
    if len(data) > _FILE_BYTES:
        raise ConfigurationError(f"{path} is larger than {_FILE_BYTES} bytes; name a JSON file")
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is not JSON: {error}; it takes servers, as in {_EXAMPLE}"
        ) from error
    expect(content, Mapping, f"{path} takes an object, as in {_EXAMPLE}")
    return str(path), content


def _server(where: str, name: Any, given: Any) -> Server:
    expect(name, str, f"{where}: the name of a server is text")
    expect(given, Mapping, f"{where} takes an object, as in {_EXAMPLE}")
    fields = {key: value for key, value in given.items() if key != "type"}
    known = _known_fields(where, given)
    unknown = [key for key in fields if key not in known]
    if unknown:
        raise ConfigurationError(
            f"{where} has the field {shown(unknown[0])}; it takes {', '.join(known)}"
            f"{_meant(unknown[:1], known)}"
        )
    fields = _expanded(where, fields)
    tools = fields.pop("tools", None)
    allowed = None if tools is None else frozenset(_texts(where, "tools", tools))
    made = _stdio if known is _STDIO else _http
    return attrs.evolve(made(where, name, fields), tools=allowed)


def _known_fields(where: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields that a server of this kind has."""
    kind = given.get("type")
    if kind is not None and kind not in _TYPES:
        hint = "; the transport 'sse' is deprecated: use the server's streamable HTTP address"
        raise ConfigurationError(
            f"{where} has the type {shown(kind)}; it takes {', '.join(_TYPES)}"
            f"{hint if kind == 'sse' else ''}"
        )
    if ("command" in given) == ("url" in given):
        raise ConfigurationError(
            f"{where} takes either a 'command' to start or a 'url' to reach; got "
            f"{'both' if 'url' in given else 'neither'}{_meant(given, ('command', 'url'))}"
        )
    own = _STDIO if "command" in given else _HTTP
    if kind is not None and _TYPES[kind] is not own:
        raise ConfigurationError(
            f"{where} has the type {kind!r}, which takes {', '.join(_TYPES[kind])}"
        )
    return own


def _meant(keys: Iterable[Any], known: tuple[str, ...]) -> str:
    """The known field that is nearest to the first key that is near one, for an error."""
    for key in keys:
        near = get_close_matches(str(key).casefold(), known, 1)
        if near and key not in known:
            return f"; did you mean {near[0]!r} in place of {shown(key)}?"
    return ""


def _stdio(where: str, name: str, given: Mapping[str, Any]) -> Server:
    cwd = given.get("cwd")
    return StdioServer(
        name=name,
        command=_text(where, "command", given["command"]),
        args=_texts(where, "args", given.get("args", [])),
        env=_pairs(where, "env", given.get("env", {})),
        cwd=None if cwd is None else _text(where, "cwd", cwd),
    )


def _http(where: str, name: str, given: Mapping[str, Any]) -> Server:
    url = _text(where, "url", given["url"])
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(
            f"{where}: url takes an address, as in 'https://example.org/mcp'; got {shown(url)}"
        )
    headers = _pairs(where, "headers", given.get("headers", {}))
    oauth = read_oauth(where, given["oauth"]) if "oauth" in given else None
    return HttpServer(name=name, url=url, headers=headers, oauth=oauth)


def _text(where: str, field: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ConfigurationError(
            f"{where}: {field} takes a non-empty string without NUL; got {shown(value)}"
        )
    return value


def _texts(where: str, field: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigurationError(f"{where}: {field} takes a list of strings; got {shown(value)}")
    return tuple(value)


def _pairs(where: str, field: str, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for one in value.values()):
        raise ConfigurationError(f"{where}: {field} takes strings by name; its values stay secret")
    return dict(value)


def _expanded(where: str, value: Any) -> Any:
    """A value of JSON with the environment variables that its texts name."""
    if isinstance(value, Mapping):
        return {key: _expanded(where, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(where, item) for item in value]
    return _VARIABLE.sub(lambda at: _looked_up(where, at), value) if _is_text(value) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _looked_up(where: str, at: re.Match[str]) -> str:
    value = os.environ.get(at[1], at[2])
    if value is None:
        raise ConfigurationError(
            f"{where} names the environment variable {at[1]}, which is not set; set it, or write "
            f"${{{at[1]}:-value}}"
        )
    return value


def _with_auth(servers: tuple[Server, ...], auth: Mapping[str, Any]) -> tuple[Server, ...]:
    """The servers with the authentication that the host passes for some of them."""
    reached = {server.name for server in servers if isinstance(server, HttpServer)}
    for name in auth:
        if name not in reached:
            listed = ", ".join(sorted(reached)) or "there are none"
            raise ConfigurationError(
                f"auth names {shown(name)}, which is not a server with a url; these are: {listed}"
            )
    return tuple(
        attrs.evolve(server, auth=auth[server.name])
        if isinstance(server, HttpServer) and server.name in auth
        else server
        for server in servers
    )
