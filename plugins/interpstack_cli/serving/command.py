"""`interpstack mcp`: serve code to MCP clients, and log in at MCP servers."""

from __future__ import annotations

import asyncio
import os
import secrets
from functools import partial
from typing import Any, Final

import attrs
import click

from interpstack import ConfigurationError
from interpstack_cli.printing import write
from interpstack_cli.running.options import StackOptions, stack_options
from interpstack_cli.serving.logins import login, logout, needed

__all__ = ["command"]

#: The environment variable with the token of a server over HTTP.
_TOKEN: Final = "INTERPSTACK_MCP_TOKEN"  # noqa: S105 - the name of a variable
#: Environment variables with the name and the secret of this server at an authorization server.
_CLIENT_ID: Final = "INTERPSTACK_MCP_CLIENT_ID"
_CLIENT_SECRET: Final = "INTERPSTACK_MCP_CLIENT_SECRET"  # noqa: S105 - the name of a variable
#: The plugin by which calls wait for an approval.
_GATE: Final = "interpstack_mcp.api:GATE"


@click.group("mcp")
def command() -> None:
    """Serve code as a tool to MCP clients, and log in at the servers that code may call."""


command.add_command(login)
command.add_command(logout)


def _address(
    ctx: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, int] | None:
    if value is None:
        return None
    host, colon, port = value.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise click.BadParameter(
            f"takes HOST:PORT, such as 127.0.0.1:8000; got {value!r:.60}", ctx, option
        )
    return host, int(port)


@command.command("serve")
@stack_options
@click.option(
    "--approve",
    metavar="NAME",
    multiple=True,
    help="Calls that need a person's approval, such as tools.pay, or a pattern, such as "
    "glob:mcp.files.*; may be repeated.",
)
@click.option(
    "--through",
    metavar="SERVER",
    multiple=True,
    help="A server of --mcp whose tools, prompts and resources clients get directly, too; may be "
    "repeated.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    callback=_address,
    help="Serve over HTTP. [default: standard input and output]",
)
@click.option(
    "--allow-host",
    "hosts",
    metavar="NAME",
    multiple=True,
    help="A name by which clients reach the server over HTTP; may be repeated. "
    "[default: the loopback names]",
)
@click.option(
    "--allow-origin",
    "origins",
    metavar="ORIGIN",
    multiple=True,
    help="An origin whose pages may call the server; may be repeated. [default: none]",
)
@click.option(
    "--oauth-issuer",
    "issuer",
    metavar="URL",
    help="The authorization server whose tokens clients over HTTP must have.",
)
@click.option(
    "--oauth-resource",
    "resource",
    metavar="URL",
    help="The URL by which clients reach the server, for which tokens must be issued.",
)
@click.option(
    "--oauth-introspection",
    "introspection",
    metavar="URL",
    help="The URL at which the authorization server checks tokens (RFC 7662).",
)
@click.option(
    "--oauth-scope",
    "scopes",
    metavar="NAME",
    multiple=True,
    help="A scope that every token must have; may be repeated.",
)
def serve(
    *,
    wanted: StackOptions,
    approve: tuple[str, ...],
    through: tuple[str, ...],
    http: tuple[str, int] | None,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    issuer: str | None,
    resource: str | None,
    introspection: str | None,
    scopes: tuple[str, ...],
) -> None:
    """Run a server whose main tool, run_code, runs code that may call all other tools.

    Requests over HTTP need the token in INTERPSTACK_MCP_TOKEN as a bearer token; without one, a new
    token is made and written to standard error. With --oauth-issuer, they need a token of that
    authorization server instead. INTERPSTACK_MCP_CLIENT_ID and INTERPSTACK_MCP_CLIENT_SECRET are
    the client id and secret with which this server asks it about tokens.
    """
    try:
        from interpstack_mcp.api import CodeServer, HttpOptions, serve_http, serve_stdio
    except ModuleNotFoundError as error:
        raise needed("serve", error) from error
    oauth = _oauth(issuer, resource, introspection, scopes)
    if http is None and (hosts or origins or oauth):
        raise ConfigurationError("--allow-host, --allow-origin and --oauth-… are for --http")
    stack, offer = attrs.evolve(wanted, plugins=(*wanted.plugins, _GATE)).open()
    with stack:
        server = CodeServer(stack, offer, approve, through=through)
        if http is None:
            asyncio.run(serve_stdio(server))
            return
        given = os.environ.get(_TOKEN)
        if oauth and given:
            raise ConfigurationError(
                f"{_TOKEN} has no effect with --oauth-issuer, whose tokens clients need instead; "
                "unset it, or leave out the --oauth-… options"
            )
        token = "" if oauth else given or secrets.token_urlsafe(32)
        settings = HttpOptions(
            token=token, oauth=oauth, host=http[0], port=http[1], hosts=hosts, origins=origins
        )
        asyncio.run(serve_http(server, settings, partial(_tell, "" if given else token)))


def _oauth(
    issuer: str | None, resource: str | None, introspection: str | None, scopes: tuple[str, ...]
) -> Any:
    """The authorization server of the options; `None` without these.

    Raises:
        ConfigurationError: One of the options is missing or wrong.
    """
    from interpstack_mcp.api import OAuthResource

    named = {
        "--oauth-issuer": issuer,
        "--oauth-resource": resource,
        "--oauth-introspection": introspection,
    }
    if not scopes and not any(named.values()):
        return None
    missing = [option for option, value in named.items() if not value]
    if missing:
        raise ConfigurationError(f"OAuth needs {', '.join(missing)}, too")
    if not (client_id := os.environ.get(_CLIENT_ID)):
        raise ConfigurationError(
            f"OAuth needs {_CLIENT_ID}: the client id with which this server asks the "
            f"authorization server about tokens; and {_CLIENT_SECRET}, its secret"
        )
    return OAuthResource(
        issuer=issuer or "",
        resource=resource or "",
        introspection=introspection or "",
        client_id=client_id,
        client_secret=os.environ.get(_CLIENT_SECRET, ""),
        scopes=scopes,
    )


def _tell(made: str, address: str) -> None:
    if made:  # a token that was given is not written anywhere
        write(f"Token: {made} ({_TOKEN} is not set)", err=True)
    write(f"Listening on {address}", err=True)
