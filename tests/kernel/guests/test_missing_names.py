"""Tests of interpstack.guests.missing_names: what is missing is named, with what is near."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import Bridge, BridgeRegistry, BridgeSet
from interpstack.guests import (
    Looked,
    cut,
    lacking,
    meant_name,
    members,
    missing_function,
    shown_functions,
)

NAMES = ["tools.price", "tools.readFile", "mcp.files.read", "greet"]


def offered(*names: str, **fields: bool) -> BridgeSet:
    registry = BridgeRegistry()
    for name in names or NAMES:
        registry.bridge(Bridge(name=name, handler=lambda: None, **fields))
    return registry.freeze()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tools.prise", "tools has no 'prise'; did you mean tools.price?"),
        ("tools.prise.then", "tools has no 'prise'; did you mean tools.price?"),
        ("tools.read_file", "tools has no 'read_file'; did you mean tools.readFile?"),
        ("mcp.files.red", "mcp.files has no 'red'; did you mean mcp.files.read?"),
        ("mcp.file.read", "mcp has no 'file'; did you mean mcp.files.read?"),
        ("tools.zebra", "tools has no 'zebra'; it has tools.price, tools.readFile"),
        ("tools.price", ""),
        ("tools.price.map", ""),
        ("tools", ""),
        ("o.foo", ""),
        ("greet.x", ""),
    ],
)
def test_a_missing_function_and_the_nearest_are_named(path: str, expected: str) -> None:
    assert missing_function(path.split("."), offered()) == expected


def test_no_path_of_indices_and_no_offer_misses_a_function() -> None:
    assert missing_function((), offered()) == ""
    assert missing_function(("tools", 0), offered()) == ""
    assert missing_function(("tools", None, "x"), offered()) == ""
    assert missing_function(("tools", "prise"), None) == ""
    assert missing_function(("tools", "prise"), BridgeSet()) == ""


def test_what_code_cannot_list_is_not_named() -> None:
    assert missing_function(("tools", "zebra"), offered("tools.secret", listed=False)) == (
        "tools has no 'zebra'"
    )
    hidden = offered("tools.secret", hidden=True)
    assert missing_function(("tools", "zebra"), hidden) == ""
    assert meant_name("secret", hidden) == meant_name("secret", offered("t.secret", listed=False))
    assert shown_functions(hidden) == ""


def test_long_lists_and_long_names_are_cut() -> None:
    many = offered(*(f"tools.a{n}" for n in range(500)))
    assert missing_function(("tools", "zebra"), many).endswith(", tools.a7 and 492 more")
    assert shown_functions(many).endswith(", tools.a7 and 492 more")
    long = "x" * 10_000
    assert len(missing_function(("tools", long), offered())) < 200
    assert meant_name(long, offered(), ["y" * 10_000, "rows"]) == ""
    assert len(lacking("hits", long, [long, "b"])) < 300
    assert members(["a"] * 20, 5) == "a, a, a, a, a, a, a, a and 17 more"
    assert cut("a\n  b") == "a b"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("price", "tools.price"),
        ("read_file", "tools.readFile"),
        ("readfile", "tools.readFile"),
        ("prise", "tools.price"),
        ("rowz", "rows"),
        ("read", "mcp.files.read"),
        ("zebra", ""),
        ("ro", ""),
        ("", ""),
    ],
)
def test_a_bare_name_is_meant_for_a_function_or_a_variable(name: str, meant: str) -> None:
    assert meant_name(name, offered(), ["rows", "hits"]) == meant


def test_a_variable_is_found_without_an_offer() -> None:
    assert meant_name("rowz", None, ["rows"]) == "rows"
    assert meant_name("price", offered(), ["priced"]) == "tools.price"


@pytest.mark.parametrize(
    ("keys", "more", "expected"),
    [
        (["title", "score"], 0, "hits[0] has no 'titel'; it has title, score"),
        ([], 0, "hits[0] has no 'titel'"),
        (["title", *"abcdefgh"], 0, "hits[0] has no 'titel'; did you mean title?"),
        (["title"], 30, "hits[0] has no 'titel'; did you mean title?"),
        ([*"abcdefghi"], 3, "hits[0] has no 'titel'; it has a, b, c, d, e, f, g, h and 4 more"),
    ],
)
def test_a_missing_member_is_named_with_all_or_near_ones(
    keys: list[str], more: int, expected: str
) -> None:
    assert lacking("hits[0]", "titel", keys, more) == expected


SOUND = {
    "found": "missing",
    "at": ["hits", 0, "titel"],
    "every": True,
    "kind": "object",
    "count": -1,
    "keys": ["title"],
    "more": 0,
    "head": "",
}


def test_the_answers_of_a_guest_are_read() -> None:
    [answer] = Looked.read([SOUND], 1)
    assert (answer.at, answer.keys) == (("hits", 0, "titel"), ("title",))


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        {},
        "[]",
        [],
        [SOUND, SOUND],
        [None],
        [{**SOUND, "found": 1}],
        [{**SOUND, "every": 1}],
        [{**SOUND, "at": []}],
        [{**SOUND, "at": [["x"]]}],
        [{**SOUND, "at": [True]}],
        [{**SOUND, "keys": [1]}],
        [{**SOUND, "keys": "abc"}],
        [{**SOUND, "count": True}],
        [{key: value for key, value in SOUND.items() if key != "head"}],
    ],
)
def test_answers_of_another_form_are_none(wrong: Any) -> None:
    assert list(Looked.read(wrong, 1)) == []
