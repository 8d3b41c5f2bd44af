"""Tests of interpstack.guests.missing_members: errors name the function that is missing."""

# ruff: noqa: E501 - messages read best unbroken

from __future__ import annotations

import pytest

from interpstack import Bridge, BridgeRegistry, BridgeSet, Cell, GuestError
from interpstack.guests import naming_missing

NAMES = ["tools.price", "tools.readFile", "mcp.files.read", "greet"]


def offered(*names: str, **fields: bool) -> BridgeSet:
    registry = BridgeRegistry()
    for name in names or NAMES:
        registry.bridge(Bridge(name=name, handler=lambda: None, **fields))
    return registry.freeze()


def message(
    source: str,
    said: str = "not a function",
    stack: str = "    at <cell> (cell:1:6)",
    bridges: BridgeSet | None = None,
) -> str:
    error = GuestError("TypeError", said, stack)
    cell = Cell(source=source, name="cell")
    return naming_missing(error, cell, bridges or offered()).message


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("tools.prise()", "not a function: tools has no 'prise'; did you mean tools.price?"),
        ("a(tools . prise)", "not a function: tools has no 'prise'; did you mean tools.price?"),
        ("tools?.prise()", "not a function: tools has no 'prise'; did you mean tools.price?"),
        ("tools['prise']()", "not a function: tools has no 'prise'; did you mean tools.price?"),
        ("tools.read_file()", "not a function: tools has no 'read_file'; did you mean tools.readFile?"),
        ("mcp.files.red()", "not a function: mcp.files has no 'red'; did you mean mcp.files.read?"),
        ("mcp.file.read()", "not a function: mcp has no 'file'; did you mean mcp.files.read?"),
        ("tools.zebra()", "not a function: tools has no 'zebra'; it has tools.price, tools.readFile"),
    ],
)  # fmt: skip
def test_the_missing_member_and_the_nearest_are_named(source: str, expected: str) -> None:
    assert message(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "o.foo()",
        "tools.price.map()",
        "tools.price(1)",
        "mytools.prise()",
        "o.tools.prise()",
        "greet.x()",
        "tools",
        "",
    ],
)
def test_other_errors_stay(source: str) -> None:
    assert message(source) == "not a function"


def test_a_name_that_the_engine_says_is_not_repeated() -> None:
    said = message("tools.prise()", "tools.prise is not a function")
    assert said == "tools.prise is not a function; did you mean tools.price?"
    said = message("tools.prise()", "'tools' object has no attribute 'prise'", "  at cell:1 in f")
    assert said == "'tools' object has no attribute 'prise'; did you mean tools.price?"
    assert message("tools.fun()", "tools.fun is not a function").startswith("tools.fun is not a ")


def test_only_the_lines_that_the_stack_names_count() -> None:
    far = "tools.prise\n" + "\n" * 9 + "o.foo()"
    assert message(far, stack="    at <cell> (cell:11:3)") == "not a function"
    assert "'prise'" in message(far, stack="    at f (cell:2:3)\n    at <cell> (cell:11:1)")
    assert "'prise'" in message("x\ntools\n  .prise()", stack="    at <cell> (cell:3:3)")
    for elsewhere in ("", "    at f (@/skills/one:1:1)", "    at <cell> (cell)", "cell:0:0"):
        assert message("\n\n\n\ntools.prise()", stack=elsewhere) == "not a function"


def test_errors_of_other_wordings_and_without_an_offer_stay() -> None:
    assert message("tools.prise()", "no price") == "no price"
    error = GuestError("TypeError", "not a function", "    at <cell> (cell:1:6)")
    cell = Cell(source="tools.prise()", name="cell")
    assert naming_missing(error, cell, None) is error
    assert naming_missing(error, cell, BridgeSet()) is error


def test_what_code_cannot_list_is_not_reported() -> None:
    assert "; " not in message("tools.zebra()", bridges=offered("tools.secret", listed=False))
    hidden = offered("tools.secret", hidden=True)
    assert message("tools.zebra()", bridges=hidden) == "not a function"


def test_long_lists_and_long_sources_are_cut() -> None:
    many = offered(*(f"tools.a{n}" for n in range(500)))
    assert message("tools.zebra()", bridges=many).endswith(", tools.a7 and 492 more")
    assert message("tools" + " " * 10**6 + "." * 10**6) == "not a function"
    assert "'prise'" in message("tools.prise();" * 10**5)
