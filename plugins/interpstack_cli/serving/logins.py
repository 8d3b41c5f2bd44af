"""`interpstack mcp login` and `logout`: logins at MCP servers that ask for a person."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from interpstack import ConfigurationError, install_command
from interpstack_cli.printing import write

__all__ = ["login", "logout", "needed"]

_FILE = click.argument(
    "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE"
)


def needed(name: str, error: ModuleNotFoundError) -> ConfigurationError:
    """The error of a command whose packages are missing."""
    return ConfigurationError(
        f"mcp {name} needs the package {error.name}, which is not installed; install it with: "
        f"{install_command('mcp')}"
    )


@click.command("login")
@_FILE
@click.argument("server")
@click.option("--no-browser", is_flag=True, help="Only print the address to open.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=300.0,
    show_default=True,
    help="Seconds for the login.",
)
def login(*, file: Path, server: str, no_browser: bool, timeout: float) -> None:
    """Log in at SERVER, which the configuration FILE describes, in a browser.

    The login is stored for later uses of the server, until it expires or is removed.
    """
    try:
        from interpstack_mcp.api import log_in
    except ModuleNotFoundError as error:
        raise needed("login", error) from error

    async def show(address: str) -> None:
        write(f"Log in here: {address}", err=True)
        if not no_browser:
            await asyncio.to_thread(click.launch, address)

    count = asyncio.run(log_in(file, server, show, timeout))
    write(f"Logged in at {server}; it lists {count} {'tool' if count == 1 else 'tools'}.")


@click.command("logout")
@_FILE
@click.argument("server")
def logout(*, file: Path, server: str) -> None:
    """Remove the login at SERVER, which the configuration FILE describes, from this machine."""
    try:
        from interpstack_mcp.api import log_out
    except ModuleNotFoundError as error:
        raise needed("logout", error) from error
    removed = log_out(file, server)
    write(f"Removed the login at {server}." if removed else f"There was no login at {server}.")
