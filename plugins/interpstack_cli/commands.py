"""Lookup of the commands, and conversion of their errors to messages and exit statuses."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TextIO

import click

from interpstack import ConfigurationError, InterpstackError
from interpstack.similar_names import similar_names
from interpstack_cli.installed.extras import extra_for
from interpstack_cli.installed.summaries import summary_of
from interpstack_cli.printing import Problem, flush_output, write
from interpstack_cli.usage_errors import check_repeated_options, worded

__all__ = ["GROUP", "CommandGroup"]

#: The entry-point group in which plugins register commands, by name.
GROUP = "interpstack.commands"

#: The package whose commands `--help` may import: it is loaded anyway.
_OWN = __name__.partition(".")[0]
_INTERRUPTED = 130
#: Numbers of errors about names that can be of no file.
_NO_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)


class CommandGroup(click.Group):
    """The commands of all installed distributions, ours too; each is imported only to be run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entries = _commands().get(cmd_name)
        if not entries:
            return None
        try:
            return _load(cmd_name, entries)
        except ConfigurationError as error:
            if ctx.resilient_parsing:  # shell completion goes on without the broken command
                return None
            raise Problem(str(error)) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, _summary(name, entries)) for name, entries in sorted(_commands().items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name; the error for another name has the nearest."""
        try:
            found = super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = similar_names(args[0], _commands())
            advice = "".join(f" Did you mean {name!r}?" for name in near)
            raise click.UsageError(error.message + advice, ctx) from None
        if not ctx.resilient_parsing:
            check_repeated_options(ctx, *found)
        return found

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the arguments; `--help` and `--version` are printed here."""
        made: click.Context = _writing(
            partial(super().make_context, info_name, args, parent, **extra)
        )
        return made

    def invoke(self, ctx: click.Context) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                return _writing(partial(super().invoke, ctx))
            except KeyboardInterrupt:
                write("Interrupted.", err=True)
                ctx.exit(_INTERRUPTED)
            except InterpstackError as error:
                raise Problem(str(error)) from error


def _writing(run: Callable[[], Any]) -> Any:
    """Call a function that may write to standard output, and report a failure to write.

    Plugins' commands may write in any way.
    """
    try:
        result = run()
    except OSError as error:
        if error.filename is None:  # the error is not about a named file
            flush_output("\n")  # raises if standard output takes nothing
        elif error.errno in _NO_NAMES:
            reason = f"{error.strerror}; name another place"
            raise Problem(f"{error.filename!r:.200} cannot be used: {reason}") from error
        raise
    except click.exceptions.Exit:
        flush_output()
        raise
    except click.UsageError as error:  # click writes the arguments that it names as they are
        setattr(error, "message", worded(error))  # noqa: B010 - typed as final
        raise
    flush_output()
    return result


def _summary(name: str, entries: Sequence[EntryPoint]) -> str:
    """The line of a command in the list that `--help` shows."""
    if all(entry.module.partition(".")[0] == _OWN for entry in entries):
        return _load(name, entries).get_short_help_str(limit=80)
    summary = summary_of(entries[0]) if len(entries) == 1 else ""
    return summary or f"Added by {' and '.join(_origin(entry) for entry in entries)}."


def _commands() -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        same = found.setdefault(entry.name, [])
        if entry.value not in [other.value for other in same]:
            same.append(entry)
    return found


def _load(name: str, entries: Sequence[EntryPoint]) -> click.Command:
    """Import a command.

    Raises:
        ConfigurationError: The command cannot be imported, is not a click command, or two packages
            add it.
    """
    if len(entries) > 1:
        owners = " and ".join(_origin(entry) for entry in entries)
        raise ConfigurationError(f"command {name!r} is added by {owners}; uninstall one")
    entry = entries[0]
    distribution = entry.dist.name if entry.dist else entry.module
    fix = f"reinstall what adds it: pip install --force-reinstall {distribution}"
    try:
        command = entry.load()
    except Exception as error:
        extra = extra_for(entry, error)
        if extra:
            raise ConfigurationError(
                f"command {name!r} needs {getattr(error, 'name', None)}, which is not installed; "
                f"install it with: pip install '{distribution}[{extra}]'"
            ) from error
        cause = f"{type(error).__name__}: {error}"
        raise ConfigurationError(
            f"command {name!r} ({entry.value}) cannot be loaded: {cause}; {fix}"
        ) from error
    if not isinstance(command, click.Command):
        raise ConfigurationError(
            f"command {name!r} ({entry.value}) is a {type(command).__name__}, not a click "
            f"command; {fix}"
        )
    return command


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name} ({entry.module})" if entry.dist else entry.module


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    write(f"{category.__name__}: {message}", err=True, colour="yellow")
