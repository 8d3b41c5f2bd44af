"""Names and URIs of several servers."""

from __future__ import annotations

from interpstack_mcp.passing.names import Names, Uris


def test_a_name_that_is_taken_gets_the_servers_before_it() -> None:
    names = Names(frozenset({"run_code"}))
    assert names.give("a", "read") == "read"
    assert names.give("b", "read") == "b.read"
    assert names.give("a", "run_code") == "a.run_code"
    assert names.give("b", "read") == "b.read"
    assert names.find("b.read") == ("b", "read")
    assert names.find("run_code") is None


def test_a_name_never_comes_to_mean_something_else() -> None:
    names = Names()
    assert names.give("b", "read") == "read"  # `a` could not be reached
    assert names.give("a", "read") == "a.read"
    assert names.find("read") == ("b", "read")


def test_without_a_free_name_nothing_is_offered() -> None:
    names = Names()
    assert names.give("a", "b.read") == "b.read"
    assert names.give("a", "read") == "read"
    assert names.give("b", "read") is None


def test_resources_come_before_links_and_links_before_templates() -> None:
    uris = Uris()
    uris.take_templates([("file:///{name}", "templates"), ("bad://{", "bad"), ("s://{+p}", "two")])
    uris.link("file:///b", "links")
    uris.take([("file:///a", "listed"), ("file:///a", "later")])
    assert uris.find("file:///a") == "listed"
    assert uris.find("file:///b") == "links"
    assert uris.find("file:///c") == "templates"
    assert uris.find("file:///{name}") == "templates"
    assert uris.find("s://x/y") == "two"
    assert uris.find("bad://x") is None
    assert uris.find("other:x") is None


def test_of_two_templates_that_fit_the_first_is_taken() -> None:
    uris = Uris()
    uris.take_templates([("x://{a}", "one"), ("x://{b}", "two"), ("x://{a}", "three")])
    assert uris.find("x://1") == "one"
    assert uris.find("x://{b}") == "two"


def test_links_are_bounded() -> None:
    uris = Uris()
    for number in range(3000):
        uris.link(f"l:{number}", "s")
    assert uris.find("l:0") is None
    assert uris.find("l:2999") == "s"
