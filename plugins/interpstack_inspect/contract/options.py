"""Options of commands that read an agent's records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

__all__ = ["reading_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS: Final = (
    click.option(
        "--tool-name",
        metavar="NAME",
        help="The interpreter's name in the agent. [default: the usual names]",
    ),
    click.option(
        "--signing-key-env",
        metavar="VARIABLE",
        help="Environment variable that holds the agent's snapshot_signing_key; with it, "
        "variables that were not signed with that key are refused.",
    ),
    click.option(
        "--aes-key-env",
        metavar="VARIABLE",
        help="Environment variable that holds the key of the checkpointer's EncryptedSerializer "
        "(AES).",
    ),
    click.option(
        "--serializer",
        metavar="MODULE:ATTR",
        help="The checkpointer's serializer, or a function that makes it, if you have set a custom"
        " one.",
    ),
)


def reading_options(command: _Command) -> _Command:
    """Add `--tool-name`, `--signing-key-env`, `--aes-key-env` and `--serializer` to a command.

    Their values are `None` if they are not given; see `SourceRequest`.
    """
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
