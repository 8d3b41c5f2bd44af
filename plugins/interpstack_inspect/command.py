"""`interpstack inspect`: web pages on recorded conversations."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Final

import click

from interpstack import ConfigurationError
from interpstack.checks import unique_fields
from interpstack_inspect.contract.options import reading_options
from interpstack_inspect.contract.source import SourceRequest
from interpstack_inspect.opening import open_source
from interpstack_workflows.api import Prices

__all__ = ["command"]

_PRICES: Final = '{"acme-large": {"input": 3, "output": 15, "cached_input": 0.3}}'


def _prices(ctx: click.Context, option: click.Parameter, text: str | None) -> Prices:
    """The prices of a JSON text, or of a file that is named as `@file`."""
    if text is None:
        return Prices()
    try:
        given = Path(text[1:]).read_text("utf-8") if text[:1] == "@" else text
        return Prices(json.loads(given, object_pairs_hook=unique_fields))
    except OSError as error:
        raise click.BadParameter(
            f"cannot read {text[1:]!r}: {error.strerror}", ctx, option
        ) from error
    except (ValueError, RecursionError, ConfigurationError) as error:
        raise click.BadParameter(
            f"takes JSON such as {_PRICES}, or @FILE; got {text!r:.80}: {error}", ctx, option
        ) from error


@click.command()
@click.argument("target", metavar="DB|MODULE:ATTR")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="The port on the loopback address. [default: a free one]",
)
@click.option(
    "--prices",
    callback=_prices,
    metavar="JSON",
    help="Prices of a million tokens by model, for models that do not report their cost, such as "
    '\'{"acme-*": {"input": 3, "output": 15}}\'; or @FILE.',
)
@reading_options
def command(
    *,
    target: str,
    port: int,
    prices: Prices,
    tool_name: str | None,
    signing_key_env: str | None,
    aes_key_env: str | None,
    serializer: str | None,
) -> None:
    """Show the conversations of an agent as web pages.

    DB is the database of its checkpointer: a path, sqlite:///relative.db, sqlite:////absolute.db or
    postgresql://… MODULE:ATTR is the agent itself, or a function or a context manager that makes
    it. Then you can decide on approvals on the pages, and the agent continues in this process.
    Questions of workflows can be answered in both.

    The pages are served only to this machine. Each printed link opens one browser; when it has
    been used, the next one is printed. Viewing changes nothing. Ctrl-C ends the server, and with
    it the runs that were resumed here.
    """
    try:
        from interpstack_inspect.serving.server import serve
    except ImportError as error:
        raise ConfigurationError(
            f"inspect needs a package that is not installed ({error}); "
            "run: pip install 'interpstack[inspect]'"
        ) from error
    request = SourceRequest(
        target=target,
        tool_name=tool_name,
        serializer=serializer,
        aes_key_env=aes_key_env,
        signing_key_env=signing_key_env,
        prices=prices,
    )
    source = open_source(request)
    asyncio.run(serve(source, port, lambda link: click.echo(f"Open this link: {link}")))
