"""Options of commands that read an agent's records."""

from __future__ import annotations

import click
from click.testing import CliRunner

from interpstack_cli import main
from interpstack_inspect.api import reading_options

NAMES = ("tool_name", "signing_key_env", "aes_key_env", "serializer")


@click.command()
@reading_options
def read(**given: str | None) -> None:
    """Print the options."""
    click.echo(repr([given[name] for name in NAMES]))


def test_options_are_texts_or_none() -> None:
    assert CliRunner().invoke(read, []).output == "[None, None, None, None]\n"
    given = [f"--{name.replace('_', '-')}={number}" for number, name in enumerate(NAMES)]
    assert CliRunner().invoke(read, given).output == "['0', '1', '2', '3']\n"


def test_commands_that_read_records_explain_them_alike() -> None:
    context = click.Context(main)
    helps = []
    for name in ("inspect", "replay"):
        command = main.get_command(context, name)
        assert command is not None
        options = {one.name: one for one in command.params if isinstance(one, click.Option)}
        helps.append([options[wanted].help for wanted in NAMES])
    assert helps[0] == helps[1]
