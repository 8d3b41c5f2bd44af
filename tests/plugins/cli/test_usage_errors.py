"""Messages of wrong arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest

from interpstack_cli.usage_errors import check_repeated_options, worded


def _message(kind: Any, *args: str, **options: Any) -> str:
    option = click.Option(["--n"], type=kind, help="Some file. [default: none]", **options)
    command = click.Command("c", params=[option], callback=lambda n: None)
    with pytest.raises(click.UsageError) as caught:
        command.main(list(args), standalone_mode=False)
    return worded(caught.value)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (float, "takes a number, such as 30; got 'x'"),
        (int, "takes a whole number, such as 30; got 'x'"),
        (click.IntRange(1), "takes a whole number from 1, such as 30; got 'x'"),
        (click.IntRange(0, 65535), "takes a whole number from 0 to 65535, such as 65535; got 'x'"),
        (click.FloatRange(0, min_open=True), "takes a number above 0, such as 30; got 'x'"),
        (click.FloatRange(min=100), "takes a number from 100, such as 100; got 'x'"),
    ],
)
def test_a_text_that_is_no_number(kind: Any, found: str) -> None:
    assert _message(kind, "--n", "x") == found


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (click.IntRange(1), "-1", "takes a whole number from 1, such as 30; got -1"),
        (click.IntRange(0, 9), "10", "takes a whole number from 0 to 9, such as 9; got 10"),
        (click.FloatRange(0, min_open=True), "0", "takes a number above 0, such as 30; got 0.0"),
    ],
)
def test_a_number_outside_of_its_range(kind: Any, value: str, found: str) -> None:
    assert _message(kind, "--n", value) == found


def test_a_path_of_another_kind(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    folder, file = click.Path(file_okay=False), click.Path(exists=True, dir_okay=False)
    assert _message(folder, "--n", str(tmp_path / "a.txt")).endswith(
        "a.txt' is a file; name a folder"
    )
    assert _message(file, "--n", str(tmp_path)) == f"'{tmp_path}' is a folder; name a file"


def test_a_path_of_no_file() -> None:
    file = click.Path(exists=True, dir_okay=False, path_type=Path)
    assert _message(file, "--n", "a\x1b.json") == (
        r"File 'a\x1b.json' not found. --n takes the path of a file."
    )
    folder = click.Path(exists=True, file_okay=False)
    assert _message(folder, "--n", "a") == "Folder 'a' not found. --n takes the path of a folder."


def test_the_path_of_an_argument() -> None:
    argument = click.Argument(["file"], type=click.Path(exists=True))
    with pytest.raises(click.UsageError) as caught:
        click.Command("c", params=[argument]).main(["a"], standalone_mode=False)
    assert worded(caught.value) == (
        "File or folder 'a' not found. This argument takes the path of a file or folder."
    )


def test_a_missing_option_is_described() -> None:
    assert _message(str, required=True) == "Some file."
    error = click.UsageError("two\nlines \x1b")
    assert "\x1b" not in worded(error)


def _inner(ctx: click.Context, args: list[str]) -> None:
    options = [
        click.Option(["--one", "-o"]),
        click.Option(["--many"], multiple=True),
        click.Option(["--flag"], is_flag=True),
        click.Option(["-v"], count=True),
        click.Argument(["words"], nargs=-1),
    ]
    group = click.Group("g", commands=[click.Command("c", params=options)])
    check_repeated_options(ctx, "g", group, ["c", *args])


@pytest.mark.parametrize(
    "args", [["--one", "a", "--one", "b"], ["--one=a", "--one=a"], ["-oa", "x", "--one", "b"]]
)
def test_an_option_of_one_value_is_given_once(args: list[str]) -> None:
    with click.Context(click.Group("main")) as ctx, pytest.raises(click.UsageError) as refused:
        _inner(ctx, args)
    message = (
        "Invalid value for '--one' / '-o': is given 2 times, and takes one value; give it once"
    )
    assert refused.value.format_message() == message
    assert refused.value.ctx.command_path.endswith("g c")


def test_other_options_and_words_may_be_repeated() -> None:
    given = [
        "--many",
        "a",
        "--many",
        "a",
        "--flag",
        "--flag",
        "-vv",
        "x",
        "x",
        "--",
        "--one",
        "--one",
    ]
    with click.Context(click.Group("main")) as ctx:
        _inner(ctx, ["--one", "a", *given])
