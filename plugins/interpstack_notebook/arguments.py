"""The arguments in the first line of a cell of guest code."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, Final, NoReturn

import attrs

from interpstack import ConfigurationError

__all__ = ["CellArguments", "read_arguments", "read_engine"]

_FORM: Final = "[engine=NAME] [--in NAME …] [--out NAME …] [--frames] [--tools NAME …]"


@attrs.frozen(kw_only=True)
class CellArguments:
    """The arguments of one cell.

    Attributes:
        engine: Name of the engine.
        ins: Variables of the notebook that code gets.
        outs: Variables of code that the notebook gets.
        frames: Make data frames of the latter.
        tools: Functions of the notebook that code may call.
    """

    engine: str
    ins: tuple[str, ...] = ()
    outs: tuple[str, ...] = ()
    frames: bool = False
    tools: tuple[str, ...] = ()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"{self.prog}: {message}; the form is {self.prog} {_FORM}")


def read_arguments(magic: str, line: str, engine: str | None) -> CellArguments:
    """Read the arguments of a magic.

    Args:
        magic: Its name, for messages.
        line: The text behind its name.
        engine: The engine of the magic; `None` if the line must name one.

    Raises:
        ConfigurationError: An argument is wrong.
    """
    parser = _Parser(prog=magic, add_help=False, allow_abbrev=False)
    parser.add_argument("chosen", nargs="?")
    for option in ("--in", "--out", "--tools"):
        parser.add_argument(option, nargs="+", action="extend", default=[])
    parser.add_argument("--frames", action="store_true")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ConfigurationError(f"{magic}: {error}; close the quotation marks") from None
    given = vars(parser.parse_args(words))
    chosen = _engine(magic, given["chosen"], engine)
    ins, outs, tools = (_names(magic, given[name]) for name in ("in", "out", "tools"))
    if given["frames"] and not outs:
        raise ConfigurationError(f"{magic}: --frames needs --out NAME, which becomes a data frame")
    return CellArguments(engine=chosen, ins=ins, outs=outs, frames=given["frames"], tools=tools)


def read_engine(magic: str, line: str) -> str | None:
    """Read the one argument of a magic without a cell: an engine, or `None` for all.

    Args:
        magic: Its name, for messages.
        line: The text behind its name.

    Raises:
        ConfigurationError: There is something else.
    """
    words = line.split()
    if len(words) > 1:
        raise ConfigurationError(f"{magic} takes engine=NAME, or nothing; got {line.strip()!r}")
    return _engine(magic, words[0], None) if words else None


def _engine(magic: str, chosen: str | None, engine: str | None) -> str:
    key, equals, name = (chosen or "").partition("=")
    if chosen is None and engine is not None:
        return engine
    if key != "engine" or not equals or not name:
        got = "nothing" if chosen is None else repr(chosen)
        raise ConfigurationError(f"{magic} takes engine=NAME, such as engine=quickjs; got {got}")
    return name


def _names(magic: str, given: list[Any]) -> tuple[str, ...]:
    for name in given:
        if not name.isidentifier():
            raise ConfigurationError(f"{magic}: {name!r} is not the name of a variable")
    return tuple(dict.fromkeys(given))
