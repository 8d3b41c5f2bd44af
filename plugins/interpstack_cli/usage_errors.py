"""Errors of wrong arguments that click words too briefly, or does not raise.

Of an option that takes one value and is given twice, click drops the first value in silence.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import click

from interpstack_cli.printing import without_controls

__all__ = ["check_repeated_options", "worded"]

#: What click says of texts that are not numbers, and of numbers that are too small or too large.
_NO_NUMBER: Final = re.compile(
    r"(?P<value>.*) is not (?:a valid (?:float|integer)(?: range)?|in the range .*)\.", re.DOTALL
)
#: What click says of paths.
_NO_PATH: Final = re.compile(
    r"(?P<kind>File|Directory|Path) (?P<path>'.*') does not exist\.", re.DOTALL
)
_OTHER_KIND: Final = re.compile(
    r"(?:File|Directory) (?P<path>'.*') is a (?P<found>file|directory)\.", re.DOTALL
)
#: Units of numbers, by the placeholder of the value in the help of an option.
_UNITS: Final = {"MIB": "MiB", "SECONDS": "seconds", "TOKENS": "tokens"}
_KINDS: Final = {"File": "file", "Directory": "folder", "Path": "file or folder"}


def worded(error: click.UsageError) -> str:
    """The message of an error without control characters, with what the option takes."""
    option = getattr(error, "param", None)
    message = error.message
    if isinstance(error, click.MissingParameter) and not message:
        return without_controls(_help(option))
    if isinstance(error, click.BadParameter) and option is not None:
        if number := _NO_NUMBER.fullmatch(message):
            message = f"takes {_number(option)}; got {number['value']}"
        elif path := _NO_PATH.fullmatch(message):
            kind = _KINDS[path["kind"]]
            named = option.opts[0] if isinstance(option, click.Option) else "This argument"
            accepted = getattr(option.type, "accepted", f"the path of a {kind}")
            message = f"{kind.capitalize()} {path['path']} not found. {named} takes {accepted}."
        elif path := _OTHER_KIND.fullmatch(message):
            found, wanted = "file", "folder"
            if path["found"] == "directory":
                found, wanted = wanted, found
            message = f"{path['path']} is a {found}; name a {wanted}"
    return without_controls(message)


def check_repeated_options(
    parent: click.Context, name: str | None, command: click.Command | None, args: list[str]
) -> None:
    """Refuse an option that takes one value and is given more than once.

    The arguments are parsed on their own first, because click's contexts keep only the last value.

    Args:
        parent: The context of the group.
        name: The name of the command.
        command: The command, or a group, whose subcommand is checked, too.
        args: The arguments after the name.

    Raises:
        click.UsageError: An option is given more than once, or the arguments cannot be parsed.
    """
    if command is None:
        return
    settings = command.context_settings
    with command.context_class(command, info_name=name, parent=parent, **settings) as ctx:
        _, rest, given = command.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(given).items():
            if isinstance(option, click.Option) and times > 1 and _takes_one_value(option):
                message = f"is given {times} times, and takes one value; give it once"
                raise click.BadParameter(message, ctx, option)
        if isinstance(command, click.Group) and rest:
            check_repeated_options(ctx, *command.resolve_command(ctx, rest))


def _takes_one_value(option: click.Option) -> bool:
    return not (option.multiple or option.is_flag or option.count)


def _number(option: click.Parameter) -> str:
    """The numbers that an option or an argument takes, with their unit."""
    kind = option.type
    whole = isinstance(kind, (click.IntRange, type(click.INT)))
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    words = "a whole number" if whole else "a number"
    if unit := _UNITS.get(option.metavar or ""):
        words += f" of {unit}"
    if least is not None:
        words += f" {'above' if getattr(kind, 'min_open', False) else 'from'} {least:g}"
    if most is not None:
        words += f" to {most:g}"
    example = max(30, int(least or 0)) if most is None else int(most)
    return f"{words}, such as {example}"


def _help(option: click.Parameter | None) -> str:
    """The help of an option without its default."""
    text = getattr(option, "help", None) or ""
    return " ".join(text.partition("[default")[0].split())
