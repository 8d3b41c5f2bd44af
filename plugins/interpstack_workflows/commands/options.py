"""Arguments of `interpstack workflow`, as values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from interpstack import ConfigurationError
from interpstack.checks import shown, unique_fields
from interpstack_cli.api import attribute_named
from interpstack_commands import LocalSandbox
from interpstack_workflows.runs.catalog import ENDINGS
from interpstack_workflows.stores.records import RUN_ID_TAKES, is_run_id

__all__ = [
    "agents_named",
    "host_modules",
    "json_or_word",
    "json_value",
    "local_sandboxes",
    "run_name",
    "script_path",
]

#: Characters with which values begin that are JSON, or are read from a file.
_BEGINNINGS: Final = ("{", "[", '"', "@")
#: Names of a module that a message lists.
_NAMES_SHOWN: Final = 10


def json_value(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Return the value of a JSON text, or of a file that is named as `@file`."""
    if text is None:
        return None
    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text("utf-8")
        return _read_json(text)
    except OSError as error:
        raise click.BadParameter(
            f"cannot read {text[1:]!r}: {error.strerror}", ctx, option
        ) from error
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(
            f"takes JSON, such as '\"yes\"' or '[1, 2]', or @FILE; got {text!r:.80}: {error}",
            ctx,
            option,
        ) from error


def json_or_word(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Return the value of a JSON text, of a file that is named as `@file`, or a plain text.

    A text that begins as an object, a list or a string of JSON has to be one. An empty text, such
    as that of a shell variable that is not set, is not a value: the first answer counts.
    """
    if text == "":
        raise click.BadParameter(
            "takes JSON, @FILE or a plain word; got an empty text, which as a value is '\"\"'",
            ctx,
            option,
        )
    if text is None or text[:1] in _BEGINNINGS:
        return json_value(ctx, option, text)
    try:
        return _read_json(text)
    except ValueError:
        return text


def _read_json(text: str) -> Any:
    """The value of a JSON text whose objects name no field twice: one of the two would be lost."""
    return json.loads(text, parse_constant=_no_json, object_pairs_hook=unique_fields)


def _no_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def host_modules(
    ctx: click.Context, option: click.Parameter, texts: Sequence[str]
) -> Mapping[str, Path]:
    """Return the files of modules by specifier, as in `team:prompts=prompts.js`."""
    found: dict[str, Path] = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not (name and equals and file) or name in found:
            raise click.BadParameter(
                f"takes SPECIFIER=FILE, each specifier once; got {text}", ctx, option
            )
        found[name] = Path(file)
    return found


def script_path(ctx: click.Context, option: click.Parameter, name: str) -> Path:
    """Return the path of a workflow file."""
    path = Path(name)
    if not path.is_file():
        raise click.BadParameter(
            f"File {name!r} not found. This argument takes the path of a workflow file, which ends "
            f"in {', '.join(ENDINGS)}.",
            ctx,
            option,
        )
    if path.suffix not in ENDINGS:
        raise click.BadParameter(
            f"{name} is not a workflow file; these end in {', '.join(ENDINGS)}", ctx, option
        )
    return path


def run_name(ctx: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Return the id of a new run."""
    if text is not None and not is_run_id(text):
        raise click.BadParameter(f"takes {RUN_ID_TAKES}; got {shown(text)}", ctx, option)
    return text


def agents_named(
    ctx: click.Context, option: click.Parameter, text: str | None
) -> Mapping[str, Any]:
    """Return the agents that `module:attribute` names: agents by name, or one agent."""
    if text is None:
        return {}
    try:
        found = attribute_named("--agents", text)
    except ConfigurationError as error:
        raise click.UsageError(str(error), ctx) from error
    return found if isinstance(found, Mapping) else {"default": found}


def local_sandboxes(
    allowed: Sequence[str], commands: Sequence[str], env: Sequence[str]
) -> dict[str, LocalSandbox]:
    """Return the sandboxes that `--allow-exec`, `--exec-command` and `--exec-env` describe.

    Raises:
        click.UsageError: A value is wrong, or one option lacks another.
    """
    if bool(allowed) != bool(commands) or (env and not allowed):
        raise click.UsageError(
            "--allow-exec local/PROFILE=FOLDER and --exec-command NAME go together: name the "
            "folder, and each program that scripts may run in it"
        )
    sandboxes: dict[str, LocalSandbox] = {}
    for text in allowed:
        profile, equals, folder = text.partition("=")
        name = profile.removeprefix("local/")
        if not equals or not folder or name in ("", profile):
            raise click.UsageError(f"--allow-exec takes local/PROFILE=FOLDER; got {text}")
        if profile in sandboxes:
            raise click.UsageError(f"--allow-exec names {profile} twice")
        try:
            sandboxes[profile] = LocalSandbox(folder, commands=commands, env=env)
        except ConfigurationError as error:
            message = str(error).removeprefix("LocalSandbox: ")
            raise click.UsageError(f"--allow-exec {profile}: {message}") from error
    return sandboxes
