"""The configuration of servers, checked: how each one is started or reached.

The usual form is that of `mcpServers`. The files of other clients are read as they are: they differ
in the name of the root, in a few fields, and in what they add for their own users.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from interpstack import ConfigurationError
from interpstack.checks import expect, listed, repeated, shown, unique_fields
from interpstack.similar_names import similar_names
from interpstack_mcp.oauth.settings import OAuth, read_oauth

__all__ = ["HttpServer", "Server", "StdioServer", "read_servers"]

_log = logging.getLogger("interpstack.mcp")
#: Bytes of a configuration file.
_FILE_BYTES: Final = 2**20
#: `${NAME}`, `${env:NAME}` and `${NAME:-value}`, which stand for an environment variable.
_VARIABLE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
#: Other variables, such as `${input:key}` of editors and `${NAME:?}` of shells.
_OTHER_VARIABLES: Final = re.compile(r"\$\{ *[A-Za-z_][A-Za-z0-9_]* *(?:[:?=+-][^}]*)?\}")
#: The name of a header, and its value, as HTTP/1.1 takes them in ASCII.
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[ \t]*[!-~])*)?")
#: Fields of a server that is a process, and of one that is reached over HTTP.
_STDIO: Final = ("command", "args", "env", "envFile", "cwd", "tools")
_HTTP: Final = ("url", "headers", "auth", "oauth", "tools")
#: Names of the field for the transport, its values, and the fields of such servers.
_TYPE_FIELDS: Final = ("type", "transport", "transportType")
_TYPES: Final = {
    "stdio": _STDIO,
    "http": _HTTP,
    "streamable-http": _HTTP,
    "streamableHttp": _HTTP,
    "streamable_http": _HTTP,
}
#: Names of the root in the files of clients; without one, the servers are the root.
_ROOTS: Final = ("mcpServers", "servers")
#: Fields of other clients that mean nothing here: approvals that they skip, times that `McpLimits`
#: has, and texts for their users. Fields that restrict a server are not among them.
_IGNORED: Final = frozenset(
    {
        "alwaysAllow",
        "autoApprove",
        "description",
        "dev",
        "encoding",
        "encoding_error_handler",
        "gallery",
        "icon",
        "initTimeout",
        "keep_alive",
        "metadata",
        "notes",
        "session_kwargs",
        "sseReadTimeout",
        "sse_read_timeout",
        "terminate_on_close",
        "timeout",
        "verify",
        "version",
        "watchPaths",
    }
)
#: Ignored fields that are named together.
_NAMED: Final = 10
#: A client of OAuth, as an editor writes it.
_CLIENT: Final = {"CLIENT_ID": str, "CLIENT_SECRET": str, "scopes": list}
_CLIENT_FIELDS: Final = {"CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret"}
#: What comments in JSON are, beside the texts that may contain the same characters.
_COMMENTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)
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
        given: The path of a JSON file, or its content. `${NAME}` or `${env:NAME}` in texts stands
            for an environment variable, `${NAME:-value}` for one that may be missing.
        auth: An `httpx2.Auth` for servers reached over HTTP, by name.

    Raises:
        ConfigurationError: The file cannot be read, or something in it is wrong.
    """
    where, content = ("mcp", given) if isinstance(given, Mapping) else _read(given)
    listed = _listed(where, content)
    servers = tuple(
        _server(f"{where}: server {name!r}", name, one)
        for name, one in listed.items()
        if not _is_off(f"{where}: server {name!r}", one)
    )
    if not servers:
        raise ConfigurationError(f"{where}: all servers are disabled; enable one")
    return _with_auth(servers, auth or {})


def _listed(where: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The servers of a configuration by name, whatever their root is called.

    Raises:
        ConfigurationError: There are none.
    """
    within = content.get("mcp")  # in the settings of an editor
    inner = within if isinstance(within, Mapping) and "servers" in within else None
    found = [one for one in _ROOTS if isinstance(content.get(one), Mapping)]
    if len(found) + (inner is not None) > 1:
        roots = " and ".join(map(repr, found if inner is None else [*found, "mcp"]))
        raise ConfigurationError(f"{where} has servers under {roots}; put all under one of them")
    if inner is not None and not {*_ROOTS} & {*content}:
        content = inner
    root = next((one for one in _ROOTS if isinstance(content.get(one), Mapping)), None)
    if root is None and content and all(map(_is_server, content.values())):
        return content
    if root is None or not content[root]:
        raise ConfigurationError(
            f"{where} takes servers by name under 'mcpServers', as in {_EXAMPLE}; "
            f"got {shown(content)}"
        )
    _ignore(where, [key for key in content if key != root])
    servers: Mapping[str, Any] = content[root]
    return servers


def _is_server(given: Any) -> bool:
    return isinstance(given, Mapping) and bool({"command", "url"} & {*given})


def _ignore(where: str, fields: Iterable[Any]) -> None:
    """Name fields that mean nothing here, in the log."""
    names = sorted(map(str, fields))
    if names:
        ignored = listed(names, _NAMED)
        _log.warning("%s: fields that mean nothing here are ignored: %.500s", where, ignored)


def _is_off(where: str, given: Any) -> bool:
    """Whether a server is disabled."""
    if not isinstance(given, Mapping):
        return False
    off = given.get("disabled", False), not given.get("enabled", True)
    if any(not isinstance(one, bool) for one in (off[0], given.get("enabled", True))):
        raise ConfigurationError(f"{where}: disabled and enabled take true or false")
    if any(off):
        _log.warning("%s is disabled, so it is left out", where)
    return any(off)


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
        content = _parsed(data)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"{path} is not JSON: {error}; it takes servers, as in {_EXAMPLE}"
        ) from error
    expect(content, Mapping, f"{path} takes an object, as in {_EXAMPLE}")
    return str(path), content


def _parsed(data: bytes) -> Any:
    """JSON, also with the comments and the commas at ends that editors allow.

    Raises:
        ConfigurationError: An object names a server or a field twice.
        ValueError: It is no JSON.
    """
    try:
        return json.loads(data, object_pairs_hook=unique_fields)
    except ConfigurationError:  # it is JSON, and names something twice
        raise
    except ValueError:
        text = data.decode("utf-8-sig")
        plain = _COMMENTS.sub(lambda at: at[0] if at[0][0] == '"' else " ", text)
        if plain == text:
            raise
        # A comma may stand before a comment.
        plain = _COMMENTS.sub(lambda at: at[0] if at[0][0] == '"' else " ", plain)
        return json.loads(plain, object_pairs_hook=unique_fields)


def _server(where: str, name: Any, given: Any) -> Server:
    expect(name, str, f"{where}: the name of a server is text")
    expect(given, Mapping, f"{where} takes an object, as in {_EXAMPLE}")
    known = _known_fields(where, given)
    about = {*_TYPE_FIELDS, "disabled", "enabled"}
    fields = {k: v for k, v in given.items() if k not in about and v is not None}
    _ignore(where, [key for key in fields if key in _IGNORED])
    fields = {key: value for key, value in fields.items() if key not in _IGNORED}
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
    kinds = [given[field] for field in _TYPE_FIELDS if given.get(field) is not None]
    for kind in kinds:
        if not isinstance(kind, str) or kind not in _TYPES:
            hint = "; the transport 'sse' is deprecated: use the server's streamable HTTP address"
            raise ConfigurationError(
                f"{where} has the type {shown(kind)}; it takes {', '.join(_TYPES)}"
                f"{hint if kind == 'sse' else ''}"
            )
    there = {field for field in ("command", "url") if given.get(field) is not None}
    if len(there) != 1:
        raise ConfigurationError(
            f"{where} takes either a 'command' to start or a 'url' to reach; got "
            f"{'both' if there else 'neither'}{_meant(given, ('command', 'url'))}"
        )
    own = _STDIO if "command" in there else _HTTP
    for kind in kinds:
        if _TYPES[kind] is not own:
            raise ConfigurationError(
                f"{where} has the type {kind!r}, which takes {', '.join(_TYPES[kind])}"
            )
    return own


def _meant(keys: Iterable[Any], known: tuple[str, ...]) -> str:
    """The known field that is nearest to the first key that is near one, for an error."""
    for key in keys:
        near = similar_names(str(key), known)
        if near and key not in known:
            return f"; did you mean {near[0]!r} in place of {shown(key)}?"
    return ""


def _stdio(where: str, name: str, given: Mapping[str, Any]) -> Server:
    cwd = given.get("cwd")
    env = {**_env_file(where, given), **_pairs(where, "env", given.get("env", {}))}
    for variable, value in env.items():
        if not variable or not {*variable}.isdisjoint("=\0") or "\0" in value:
            raise ConfigurationError(
                f"{where}: env takes names without '=' and texts without NUL; got the variable "
                f"{shown(variable)}, whose value stays secret"
            )
    return StdioServer(
        name=name,
        command=_text(where, "command", given["command"]),
        args=_texts(where, "args", given.get("args", [])),
        env=env,
        cwd=None if cwd is None else _text(where, "cwd", _plain_path(cwd)),
    )


def _plain_path(given: Any) -> Any:
    return os.fspath(given) if isinstance(given, os.PathLike) else given


def _env_file(where: str, given: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a file with a line `NAME=value` for each, in quotes or not."""
    if "envFile" not in given:
        return {}
    path = Path(_text(where, "envFile", _plain_path(given["envFile"])))
    try:
        with path.open(encoding="utf-8-sig") as file:
            text = file.read(_FILE_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{where}: envFile {path} cannot be read: {error}") from error
    if len(text) > _FILE_BYTES:
        raise ConfigurationError(f"{where}: envFile {path} has more than {_FILE_BYTES} characters")
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if not equals or not name.strip().isidentifier():
            raise ConfigurationError(f"{where}: line {number} of envFile {path} is not NAME=value")
        value = value.strip()
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        found[name.strip()] = value[1:-1] if quoted else value
    return found


def _http(where: str, name: str, given: Mapping[str, Any]) -> Server:
    url = _text(where, "url", given["url"])
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a part of it, such as the port
        fits = False
    if not fits:
        raise ConfigurationError(
            f"{where}: url takes an address, as in 'https://example.org/mcp'; got {shown(url)}"
        )
    headers = _pairs(where, "headers", given.get("headers", {}))
    oauth = given.get("oauth")
    auth: Any = None
    match given.get("auth"):
        case None:
            pass
        case "oauth":
            oauth = True if oauth is None else oauth
        case str() as token if token:
            given_twice = [name for name in headers if name.casefold() == "authorization"]
            if given_twice:
                raise ConfigurationError(
                    f"{where} has a token in auth and in the header {given_twice[0]}; give it once"
                )
            headers = {**headers, "Authorization": f"Bearer {token}"}
        case Mapping() as client if oauth is None and _CLIENT.items() >= _kinds(client).items():
            oauth = {_CLIENT_FIELDS[key]: value for key, value in client.items() if key != "scopes"}
            _ignore(f"{where}: auth", {"scopes"} & {*client})
        case other if callable(getattr(other, "auth_flow", None)):
            auth = other  # an `httpx2.Auth`, in a configuration that is made in Python
        case _:
            raise ConfigurationError(
                f"{where}: auth takes a bearer token, 'oauth', an object with CLIENT_ID and "
                "CLIENT_SECRET, or an httpx2.Auth; its value stays secret"
            )
    _check_headers(where, headers)
    read = None if oauth is None else read_oauth(where, oauth)
    return HttpServer(name=name, url=url, headers=headers, auth=auth, oauth=read)


def _check_headers(where: str, headers: Mapping[str, str]) -> None:
    """Refuse headers that no request can carry, without their values, which stay secret."""
    twice = repeated(map(str.casefold, headers))
    if twice is not None:
        raise ConfigurationError(f"{where}: headers have {twice!r:.100} twice; give it once")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ConfigurationError(f"{where}: headers take names of ASCII; got {shown(name)}")
        if not _HEADER_VALUE.fullmatch(value):
            raise ConfigurationError(
                f"{where}: the value of the header {name} must be printable ASCII, without line "
                "ends and without white space around it; its value stays secret"
            )


def _kinds(given: Mapping[str, Any]) -> dict[str, type]:
    return {key: type(value) for key, value in given.items()}


def _text(where: str, field: str, value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ConfigurationError(
            f"{where}: {field} takes a non-empty string without NUL; got {shown(value)}"
        )
    return value


def _texts(where: str, field: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(x, str) and "\0" not in x for x in value):
        raise ConfigurationError(
            f"{where}: {field} takes a list of strings without NUL; got {shown(value)}"
        )
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
    if not isinstance(value, str):
        return value
    for given in _VARIABLE.finditer(value):
        if given[2] and "${" in given[2]:
            raise ConfigurationError(
                f"{where} uses {given[0]:.60}, a variable inside the default of another; write a "
                "text as the default"
            )
    foreign = _OTHER_VARIABLES.search(_VARIABLE.sub("", value))
    if foreign is not None:
        raise ConfigurationError(
            f"{where} uses {foreign[0]:.60}, which is not known here; write ${{NAME}}, "
            "${env:NAME} or ${NAME:-value} for an environment variable"
        )
    return _VARIABLE.sub(lambda at: _looked_up(where, at), value)


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
