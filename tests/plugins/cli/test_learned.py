"""`interpstack types`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interpstack import HostTool
from interpstack_learned import LearnedTypes, Shape, read_reviewed, read_types
from interpstack_learned.stored import SPACE, add_types
from interpstack_learned.table import LearnedTable
from interpstack_state import open_store

ANSWER = {"hits": [{"title": "a"}, {"title": "b"}]}
VERSION = "0123456789ab"


def put(path: Path, *versions: tuple[str, str, Any]) -> str:
    """Learn answers of versions of tools, each twice; returns the URL of the store."""
    table = LearnedTable()
    for number, (tool, version, answer) in enumerate(versions):
        for _ in range(2):
            table.add(tool, version, Shape.of(answer), used=1_000_000_000 + number)
    url = str(path / "types.db")
    with open_store(url, space=SPACE) as store:
        add_types(store, table)
    return url


@pytest.fixture
def url(tmp_path: Path) -> str:
    return put(tmp_path, ("search", VERSION, ANSWER), ("pay-now", VERSION, None))


def test_types_are_listed(run, url) -> None:
    shown = run("types", "list", "--store", url).stdout
    for word in ("search", "pay-now", VERSION, "2001-09-09", "title: string", "null"):
        assert word in shown
    assert json.loads(run("types", "list", "--json", "--store", url).stdout) == [
        {"tool": "pay-now", "version": VERSION, "seen": 2, "learned": "2001-09-09"},
        {"tool": "search", "version": VERSION, "seen": 2, "learned": "2001-09-09"},
    ]


def test_an_empty_store_says_so(run, tmp_path) -> None:
    url = put(tmp_path)
    assert run("types", "list", "--store", url).stdout == "Nothing was learned yet.\n"
    assert run("types", "list", "--json", "--store", url).stdout == "[]\n"


def test_the_store_is_that_of_the_environment(run, url, monkeypatch) -> None:
    monkeypatch.setenv("INTERPSTACK_TYPES", url)
    assert "search" in run("types", "list").stdout


def test_types_are_shown_as_typescript(run, tmp_path) -> None:
    url = put(tmp_path, ("search", VERSION, 1), ("search", "ba9876543210", ANSWER))
    assert run("types", "show", "search", "--store", url).stdout == (
        '/** "search", version ba9876543210, seen 2 times */\n'
        "export type SearchAnswer = { hits: { title: string }[] }\n\n"
        f'/** "search", version {VERSION}, seen 2 times */\n'
        "export type SearchAnswer2 = number\n"
    )


def test_an_exported_file_is_used_as_it_is(run, url, tmp_path) -> None:
    async def call(given: Any, context: Any) -> None:
        raise AssertionError

    path = tmp_path / "reviewed.json"
    path.write_text(run("types", "export", "--store", url).stdout, "utf-8")
    assert [one.tool for one in read_reviewed(path)] == ["pay-now", "search"]
    path.write_text(run("types", "export", "search", "--store", url).stdout.replace(VERSION, ""))
    form = json.loads(path.read_text())
    form["types"][0]["version"] = None
    path.write_text(json.dumps(form))
    learned = LearnedTypes(types=path).tool(HostTool(name="search", call=call)).learned
    assert learned is not None
    assert learned.schema == form["types"][0]["answer"]


def test_declarations_are_typescript(run, url) -> None:
    shown = run("types", "export", "--format", "declarations", "--store", url).stdout
    assert "export type PayNowAnswer = null\n" in shown
    assert "export type SearchAnswer = { hits: { title: string }[] }\n" in shown


def test_a_name_cannot_end_a_comment(run, tmp_path) -> None:
    url = put(tmp_path, ("*/ evil()", VERSION, 1))
    shown = run("types", "export", "--format", "declarations", "--store", url).stdout
    assert shown.count("*/") == 1


def test_types_are_forgotten(run, url) -> None:
    assert run("types", "forget", "search", "--store", url).stdout == "Forgot 1 type.\n"
    with open_store(url, space=SPACE) as store:
        assert [one.tool for one in read_types(store)] == ["pay-now"]
    assert run("types", "forget", "--all", "--store", url).stdout == "Forgot 1 type.\n"
    assert run("types", "forget", "--all", "--store", url).stdout == "Forgot 0 types.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "serch"], "nothing was learned of a tool 'serch'; did you mean 'search'?"),
        (["export", "other"], "nothing was learned of a tool 'other'"),
        (["forget", "search", "serch"], "nothing was learned of a tool 'serch'"),
        (["forget"], "Name tools to forget, or pass --all."),
        (["forget", "search", "--all"], "Name tools to forget, or pass --all."),
    ],
)
def test_wrong_arguments_are_refused(run, url, arguments, message) -> None:
    result = run("types", *arguments, "--store", url)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "search" in run("types", "list", "--store", url).stdout


def test_a_store_must_be_named_and_there(run, tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("INTERPSTACK_TYPES", raising=False)
    result = run("types", "list")
    assert result.exit_code == 2
    assert "Pass --store URL, or set INTERPSTACK_TYPES." in result.stderr
    assert run("types", "list", "--store", str(tmp_path / "none.db")).exit_code == 2
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("arguments", [["list"], ["show", "a"], ["export"], ["forget", "a"]])
def test_a_foreign_form_is_named_and_can_be_removed(run, url, arguments) -> None:
    with open_store(url, space=SPACE) as store:
        store.claim("learned types", "other", 1)
        store.save("learned types", "other", b"{}", 0)
    result = run("types", *arguments, "--store", url)
    assert result.exit_code == 2
    assert "`interpstack types forget --all` removes them" in " ".join(result.stderr.split())
    assert run("types", "forget", "--all", "--store", url).exit_code == 0
    assert run("types", "list", "--store", url).stdout == "Nothing was learned yet.\n"
