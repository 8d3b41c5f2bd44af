"""Arguments of `interpstack workflow`, as values."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from interpstack import ConfigurationError
from interpstack_workflows.sandbox.local import LocalSandbox

__all__ = ["agents_named", "json_value", "local_sandboxes", "script_path"]


def json_value(ctx: click.Context, option: click.Parameter, text: str | None) -> Any:
    """The value of a JSON text, or of a file that is named as `@file`."""
    if text is None:
        return None
    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text("utf-8")
        return json.loads(text)
    except OSError as error:
        raise click.BadParameter(
            f"cannot read {text[1:]}: {error.strerror}", ctx, option
        ) from error
    except ValueError as error:
        raise click.BadParameter(
            f"takes JSON, such as '\"yes\"' or '[1, 2]', or @FILE; got {text!r:.80}: {error}",
            ctx,
            option,
        ) from error


def script_path(ctx: click.Context, option: click.Parameter, name: str) -> Path:
    """The path of a workflow file."""
    path = Path(name)
    if not path.is_file():
        raise click.BadParameter(f"there is no file {name}", ctx, option)
    return path


def agents_named(
    ctx: click.Context, option: click.Parameter, text: str | None
) -> Mapping[str, Any]:
    """The agents that `module:attribute` names: agents by name, or one agent."""
    if text is None:
        return {}
    module, colon, attribute = text.partition(":")
    if not (module and colon and attribute):
        raise click.BadParameter(f"takes MODULE:ATTRIBUTE; got {text}", ctx, option)
    sys.path.insert(0, "")  # modules of the working directory, as `python -m` finds them
    try:
        found = getattr(import_module(module), attribute)
    except ImportError as error:
        raise click.BadParameter(f"cannot import {module}: {error}", ctx, option) from error
    except AttributeError as error:
        raise click.BadParameter(f"{module} has no {attribute}", ctx, option) from error
    finally:
        sys.path.remove("")
    return found if isinstance(found, Mapping) else {"default": found}


def local_sandboxes(
    allowed: Sequence[str], commands: Sequence[str], env: Sequence[str]
) -> dict[str, LocalSandbox]:
    """The sandboxes that `--allow-exec`, `--exec-command` and `--exec-env` describe.

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
            told = str(error).removeprefix("LocalSandbox: ")
            raise click.UsageError(f"--allow-exec {profile}: {told}") from error
    return sandboxes
