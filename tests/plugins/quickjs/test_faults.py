"""The token at which QuickJS stops parsing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from interpstack_quickjs.faults import find_fault, find_module_fault
from interpstack_quickjs.guest import STATUS_JS_ERROR, Guest


@pytest.fixture(scope="module")
def guest() -> Iterator[Guest]:
    made = Guest(16 * 2**20)
    with made.runtime.ticker:
        yield made
    made.close()


def _found(guest: Guest, source: str, seconds: float | None = None) -> int | None:
    guest.set_time(seconds)
    status, error = guest.evaluate(source, "eval_async")
    assert status == STATUS_JS_ERROR
    return find_fault(guest, source, error)


@pytest.mark.parametrize(
    ("before", "token"),
    [
        ("let a = 1;\nlet b = ", ") + 2"),
        ("a ", "b"),
        ("x = {a: 1,", ", b: 2}"),
        ("f(1, 2", ";"),
        ("/* ( */ '(' + ", ")"),
        ("x = ", "'open"),
        ("x = 'a' + ", '"open'),
        ("x = 1; ", "/* open"),
        ("x = ", "`open ${1}"),
        ("a = 1; ", "f() = 2"),
        ("a = 1; ", "(b + c) = 2"),
        ("class A { #a; #a ", "}"),
        ("'x'\n" * 500 + "let q = ", ")"),
    ],
)
def test_the_faulty_token(guest: Guest, before: str, token: str) -> None:
    assert _found(guest, before + token) == len(before)


@pytest.mark.parametrize("source", ["f(", "{ let a = 1", "let a = [1, 2\n\n"])
def test_a_source_that_ends_too_soon_is_at_fault_at_its_end(guest: Guest, source: str) -> None:
    assert _found(guest, source) == len(source.rstrip())


def test_a_module_is_searched_without_being_imported(guest: Guest) -> None:
    source = "import {a} from './never'\nexport const b = )"
    status, error = guest.evaluate_nameless(source)
    assert status == STATUS_JS_ERROR
    message = guest.text_of(error, "message")
    assert message is not None
    guest.set_time(None)
    for line in (2, 1, 99):  # the line only helps
        assert find_module_fault(guest, source, message, line) == source.index(")")


@pytest.mark.parametrize("message", ["out of memory", "stack overflow"])
def test_errors_that_no_token_makes_have_no_place(guest: Guest, message: str) -> None:
    assert find_module_fault(guest, "export const b = )", message, 1) is None


def test_a_thrown_value_that_is_no_error_has_no_place(guest: Guest) -> None:
    status, thrown = guest.evaluate("throw 5")
    assert status == STATUS_JS_ERROR
    assert find_fault(guest, "throw 5", thrown) is None


def test_the_search_takes_a_share_of_the_time_and_no_more(guest: Guest) -> None:
    source = "a = 1;\n" * 2000 + "b = )"
    guest.set_time(60.0)
    status, error = guest.evaluate(source, "eval_async")
    assert status == STATUS_JS_ERROR
    guest.set_time(0.0)
    assert find_fault(guest, source, error) is None
    guest.set_time(60.0)
    guest.interrupt()
    assert find_fault(guest, source, error) is None
    guest.set_time(60.0)
    assert find_fault(guest, source, error) == source.index(")")
