"""Keeps test classes honest: what the kit tests is neither replaced nor skipped in silence."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import pytest

__all__ = [
    "case",
    "check_overrides",
    "check_skips",
    "gap_mark",
    "kit",
    "mark_gaps",
    "own_tests",
    "parametrize",
]

_C = TypeVar("_C", bound=type)

#: Tests that measure what memory a guest takes in the host: a gap may stay hidden where the host
#: uses freed memory again.
_MEASURED = frozenset({"test_guests_keep_their_memory_elsewhere"})


def kit(cls: _C) -> _C:
    """Mark the tests of a class as the kit's own."""
    for function in own_tests(cls):
        function.kit = True
    return cls


def own_tests(cls: type) -> list[Any]:
    """The test functions that a class itself defines."""
    return [function for name, function in vars(cls).items() if name.startswith("test_")]


def kit_tests(cls: type, root: type) -> dict[str, Any]:
    """The tests of the kit that `cls` inherits, by name."""
    return {
        name: function
        for base in reversed(cls.__mro__[1:])
        if issubclass(base, root)
        for name, function in vars(base).items()
        if name.startswith("test_") and hasattr(function, "kit")
    }


def check_overrides(cls: type, root: type) -> None:
    """A test of the kit may be replaced only by one that is expected to fail, and says why.

    Raises:
        TypeError: It is replaced by anything else.
    """
    for name, original in kit_tests(cls, root).items():
        if name not in vars(cls):
            continue
        replacement = vars(cls)[name]
        marks = [mark for mark in _marks(replacement) if mark.name == "xfail"]
        if not any(mark.kwargs.get("reason") for mark in marks):
            raise TypeError(
                f"{cls.__name__}.{name} replaces a test of the kit; what the engine cannot do is "
                f"told by `gaps = {{{name!r}: 'why'}}` or @pytest.mark.xfail(reason='why')"
            )
        replacement.kit = True
        if hasattr(original, "area"):
            replacement.area = original.area


def mark_gaps(cls: type, root: type, gaps: Mapping[str, str], run: bool = True) -> None:
    """Expect whole tests to fail that are named in `gaps`; or do not run them.

    Raises:
        TypeError: There is no such test, or a reason is missing.
    """
    known = kit_tests(cls, root)
    for name, reason in gaps.items():
        if not isinstance(reason, str) or not reason.strip():
            raise TypeError(f"{cls.__name__}.gaps[{name!r}] gives no reason")
        test, _, parameter = name.partition("[")
        if test not in known:
            raise TypeError(f"{cls.__name__}.gaps names {name!r}, which is no test of the kit")
        if not parameter and test not in vars(cls):
            mark = gap_mark(reason, run, strict=test not in _MEASURED)
            setattr(cls, test, mark(_copy(known[test])))


def parametrize(
    metafunc: pytest.Metafunc,
    name: str,
    table: Mapping[str, Any],
    gaps: Mapping[str, str],
    fatal: Mapping[str, str],
) -> None:
    """Run a test once for each entry of `table`, as the argument `name`.

    Raises:
        TypeError: A gap names a case that is not there.
    """
    start = f"{metafunc.function.__name__}["
    known = {f"{start}{case(key)}]" for key in table}
    for told in (*gaps, *fatal):
        if told.startswith(start) and told not in known:
            raise TypeError(f"there is a gap for {told!r}, which is no test of the kit")
    cases = []
    for key, value in table.items():
        test = f"{start}{case(key)}]"
        reason = fatal.get(test) or gaps.get(test)
        marks = [gap_mark(reason, run=test not in fatal)] if reason else []
        cases.append(pytest.param(value, id=case(key), marks=marks))
    metafunc.parametrize(name, cases)


def case(key: str) -> str:
    """A name as pytest shows it."""
    return ascii(key)[1:-1]


def gap_mark(reason: str, run: bool = True, strict: bool = True) -> pytest.MarkDecorator:
    """The test must fail: a gap that has been closed is to be taken off the list."""
    return pytest.mark.xfail(reason=reason, strict=strict, run=run)


def check_skips(definition: Any) -> None:
    """Tests of the kit are not skipped one by one; a module may skip what cannot be imported.

    Raises:
        TypeError: A test or its class is marked to be skipped.
    """
    for name in ("skip", "skipif"):
        for node, _ in definition.iter_markers_with_node(name):
            if not isinstance(node, (pytest.Module, pytest.Package)):
                raise TypeError(
                    f"{definition.name} of the kit is marked {name!r}; tell in `gaps` what the "
                    "engine cannot do, or use pytest.importorskip for what is not installed"
                )


def _marks(function: Any) -> Iterator[pytest.Mark]:
    marks = getattr(function, "pytestmark", [])
    yield from marks if isinstance(marks, list) else [marks]


def _copy(function: Any) -> Any:
    @functools.wraps(function)
    def copied(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    copied.pytestmark = list(getattr(function, "pytestmark", []))  # type: ignore[attr-defined]
    return copied
