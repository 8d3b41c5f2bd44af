"""The options that `run` and `repl` share, and the stack they ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeGuard

import attrs
import click

from interpstack import (
    Cell,
    ConfigurationError,
    Engine,
    HostOffer,
    InterpreterStack,
    Limits,
    PluginManager,
    Session,
    find_engine,
    find_language,
    installed,
)
from interpstack_cli.installed.survey import survey
from interpstack_cli.printing import is_terminal
from interpstack_cli.running.bounds import check_mebibytes, check_seconds
from interpstack_cli.running.engine_options import engine_options as read_options
from interpstack_cli.running.engine_options import engine_with
from interpstack_cli.running.plugins import load_plugins
from interpstack_cli.running.progress import show_progress
from interpstack_cli.running.tools import load_tools

__all__ = [
    "StackOptions",
    "check_language",
    "language_option",
    "opened_session",
    "save_option",
    "session_option",
    "stack_options",
    "stoppable",
]

_MIB = 2**20
#: A person reads all of it; the default is for models, whose context is dear.
_CHARS = 1_000_000


class _ServersFile(click.Path):
    """The path of `--mcp`; `accepted` is what its errors say that the option takes."""

    accepted: Final = "a JSON file with an mcpServers object"


def _files_of(
    ctx: click.Context, option: click.Parameter, value: str | None
) -> tuple[Path, bool] | None:
    """The directory of `--files`, and whether code may write to it."""
    if value is None:
        return None
    folder = value.removesuffix(":rw")
    if not folder or not Path(folder).is_dir():
        raise click.BadParameter(f"there is no directory {folder!r}", ctx, option)
    return Path(folder), value.endswith(":rw")


_OPTIONS: Final = (
    click.option(
        "--engine",
        default="quickjs",
        show_default=True,
        help="Engine to run the code in. One that cannot be stopped at any moment, such as v8, "
        "runs in a worker process, so that Ctrl-C ends it.",
    ),
    click.option(
        "--engine-option",
        "engine_options",
        metavar="NAME=VALUE",
        multiple=True,
        help="Set an option of the engine; lists and numbers as in JSON; may be repeated.",
    ),
    click.option(
        "--tools",
        metavar="MODULE[:ATTR]",
        multiple=True,
        help="Offer Python functions to the code, as tools.NAME; may be repeated.",
    ),
    click.option(
        "--plugin",
        "plugins",
        metavar="NAME|MODULE:ATTR",
        multiple=True,
        help="Add a plugin: an installed one, or an object with hooks; may be repeated.",
    ),
    click.option(
        "--skills",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help='Directory of skills; code may import "@/skills/NAME".',
    ),
    click.option(
        "--files",
        metavar="DIR[:rw]",
        callback=_files_of,
        help="Directory of files that code may read, as files.read(PATH); with :rw, write, too.",
    ),
    click.option(
        "--mcp",
        metavar="FILE",
        type=_ServersFile(exists=True, dir_okay=False, path_type=Path),
        help="MCP servers, as JSON under mcpServers; code may call mcp.SERVER.TOOL.",
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=float,
        callback=check_seconds,
        help="Time for one cell, computing and waiting. [default: 5 computing, 600 in total]",
    ),
    click.option(
        "--memory",
        metavar="MIB",
        type=int,
        callback=check_mebibytes,
        help="Memory for the code, in MiB, at least 4. [default: 64]",
    ),
)


def _folder(ctx: click.Context, option: click.Parameter, value: str | None) -> Path | None:
    if value == "":  # as a path, it would be the current directory
        raise click.BadParameter("takes a folder, such as '.'; got an empty name", ctx, option)
    return None if value is None else Path(value)


def _language_name(ctx: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("takes the name of a language, such as python", ctx, option)
    return value


language_option: Final = click.option(
    "--language",
    metavar="NAME",
    callback=_language_name,
    help="Language of the code, such as python. [default: from the extension of a file, else the "
    "engine's own]",
)
save_option: Final = click.option(
    "--save",
    metavar="DIR",
    type=click.Path(file_okay=False),
    callback=_folder,
    help="Save images and files that the code shows here. [default: draw or print them on a "
    "terminal that can, else a new folder]",
)


session_option: Final = click.option(
    "--session",
    "key",
    metavar="NAME",
    help="Continue the session of this name; needs a plugin such as sessions, which stores it.",
)


def opened_session(stack: InterpreterStack, key: str | None) -> Session:
    """The session of a name, or a new one.

    Raises:
        ConfigurationError: There is a name and no plugin to keep the session, or the other way
            round, or the plugin cannot keep a session of this name.
    """
    keeps = bool(stack.hook.interpstack_keep_state.get_hookimpls())
    if keeps and key is None:
        raise ConfigurationError(
            "a plugin that stores sessions needs the name of a session; pass --session NAME"
        )
    if key is not None and not keeps:
        raise ConfigurationError(
            "--session needs a plugin that stores sessions, such as --plugin sessions"
        )
    return stack.session(key)


@attrs.frozen(kw_only=True)
class StackOptions:
    """The values of the options that `stack_options` adds to a command.

    Attributes:
        engine: The name of the engine.
        engine_options: Options of the engine, as `NAME=VALUE`.
        tools: Places of Python functions, as `MODULE[:ATTR]`.
        plugins: Names of plugins, or places of objects with hooks, as `MODULE:ATTR`.
        skills: The directory of skills.
        files: The directory of files, and whether code may write to it.
        mcp: The file that names MCP servers.
        timeout: Seconds for one cell.
        memory: MiB for the code.
    """

    engine: str = "quickjs"
    engine_options: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    skills: Path | None = None
    files: tuple[Path, bool] | None = None
    mcp: Path | None = None
    timeout: float | None = None
    memory: int | None = None

    def open(self, file: Path | None = None) -> tuple[InterpreterStack, HostOffer]:
        """The stack, and the offer with the skills, MCP servers and the tools that are not bridges.

        Args:
            file: The file to run, which may import what is beside it; `None` for other sources.

        Raises:
            InterpstackError: An option is wrong.
        """
        # The stack needs the tools, and their names depend on the language of its engine.
        added = load_plugins(self.plugins)
        engine = stoppable(self.engine, PluginManager(added))
        manager = PluginManager(added)
        loaded = load_tools(self.tools, find_language(find_engine(engine, manager), manager))
        wanted = {
            "ptc": loaded.host_tools,
            "skills": self.skills,
            "files": self.files,
            "mcp": self.mcp,
        }
        own = ["console", "display", *(name for name, needed in wanted.items() if needed)]
        listed = [*own, *(plugin for plugin in added if plugin not in own)]
        chosen: str | Engine = engine
        cls = find_engine(engine, manager)
        beside = cls.options_beside(file) if _is_file(file) else {}
        if self.engine_options or beside:
            chosen = engine_with(cls, {**beside, **read_options(self.engine_options)})
        stack = InterpreterStack(chosen, listed, bridges=loaded.bridges, limits=self._limits())
        parts = [] if self.skills is None else [_skills_part(self.skills)]
        parts += [] if self.files is None else [_files_part(*self.files)]
        parts += [] if self.mcp is None else [_servers_part(self.mcp)]
        return stack, HostOffer(tools=loaded.host_tools, parts=parts)

    def _limits(self) -> Limits:
        given: dict[str, Any] = {}
        if self.timeout is not None:
            given |= {"cpu_seconds": self.timeout, "wall_seconds": self.timeout}
        if self.memory is not None:
            given["memory_bytes"] = self.memory * _MIB
        # A person's own loop over tools needs no budget; Ctrl-C and the time limit end it.
        return Limits(requests=None, result_chars=_CHARS, console_chars=_CHARS, **given)


_VALUES: Final = tuple(field.name for field in attrs.fields(StackOptions))


def stack_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a stack to a command, which takes their values as `wanted`."""

    @wraps(command)
    def collected(**given: Any) -> None:
        wanted = StackOptions(**{name: given.pop(name) for name in _VALUES})
        command(wanted=wanted, **given)

    made: Callable[..., None] = collected
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


def _is_file(path: Path | None) -> TypeGuard[Path]:
    """Whether there is such a file; who reads it tells what is wrong with its name."""
    try:
        return path is not None and path.is_file()
    except (OSError, ValueError):
        return False


def _skills_part(skills: Path) -> object:
    from interpstack_skills.api import Skills  # its parsers take long to import

    return Skills(skills)


def _files_part(folder: Path, writable: bool) -> object:
    from interpstack_files.api import Files

    return Files(folder, mode="read-write" if writable else "read-only")


def _servers_part(mcp: Path) -> object:
    from interpstack_mcp.api import McpServers  # an extra, whose packages take long to import

    return McpServers.of(mcp, on_progress=show_progress if is_terminal(sys.stderr) else None)


def stoppable(name: str, manager: PluginManager) -> str:
    """The name of an engine variant that Ctrl-C can end at any time.

    An engine with options for workers is one that is ended with its process where a guest does
    not stop.
    """
    cls = find_engine(name, manager)
    workers = os.name == "posix" and "process" in installed()
    return f"process:{name}" if cls.worker_options and workers else name


def check_language(stack: InterpreterStack, cell: Cell) -> None:
    """Refuse a cell whose language the engine does not run.

    Raises:
        ConfigurationError: The engine runs other languages.
    """
    runs = stack.engine.languages()
    if cell.language is not None and cell.language not in runs:
        raise ConfigurationError(
            f"{cell.name} is {cell.language}, but the engine {stack.engine.name!r} runs "
            f"{' and '.join(runs)}; {_choice(cell.language)}"
        )


def _choice(language: str) -> str:
    """The advice on how to run code in this language."""
    found = survey()
    names = [one.cls.name for one in found.engines if language in one.cls.languages()]
    if names:
        return f"choose {' or '.join(f'--engine {name}' for name in names)}"
    for failed in found.failed:
        if failed.extra and language in _languages_of(failed.name):
            extra = f"{failed.distribution}[{failed.extra}]"
            return f"install an engine for it: pip install '{extra}'"
    return f"no installed engine runs {language} ('interpstack plugins' lists them)"


def _languages_of(plugin: str) -> Iterable[str]:
    """Names of the languages a plugin registers; none if it cannot be loaded."""
    try:
        return PluginManager([plugin]).languages()
    except ConfigurationError:
        return ()
