"""The group of all commands that distributions install.

Commands are entry points of the group `interpstack.commands`, including those of this package. A
command is imported when it is used, so that `interpstack --help` is fast and a broken plugin breaks
only its own command.
"""

from __future__ import annotations

import click

from interpstack import __version__
from interpstack_cli.commands import CommandGroup

__all__ = ["main"]


@click.group(
    "interpstack", cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def main() -> None:
    """Run code in the interpreters that LLM agents use.

    Exit status: 0 on success, 1 when the code or a check failed, 2 when an option, a file or a
    plugin is wrong, 130 after Ctrl-C; the help of a command lists others.
    """
