"""Rules for test classes: tests of the kit must not be replaced or skipped silently."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

import pytest

__all__ = [
    "case",
    "check_overrides",
    "check_skips",
    "gap_marks",
    "kit",
    "mark_gaps",
    "own_tests",
    "parametrize",
]

_C = TypeVar("_C", bound=type)

#: How tests are marked that a class tells of: a gap that has been closed is to be taken off the
#: list, unless a rule says that it may be hidden.
_KINDS: Final[Mapping[str, Any]] = {
    "gaps": {"strict": True},
    "varying": {"strict": False},
    "fatal": {"run": False},
}


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
                f"{cls.__name__}.{name} replaces a test of the kit; declare what the engine "
                f"cannot do with `gaps = {{{name!r}: 'why'}}` or @pytest.mark.xfail(reason='why')"
            )
        replacement.kit = True
        if hasattr(original, "area"):
            replacement.area = original.area


def gap_marks(cls: type, own: bool = False) -> dict[str, pytest.MarkDecorator]:
    """The marks of the tests and cases in `gaps`, `varying` and `fatal`.

    Args:
        cls: The class that declares them.
        own: Omit inherited declarations.

    Raises:
        TypeError: A reason is missing.
    """
    marks = {}
    for kind, options in _KINDS.items():
        declared = vars(cls).get(kind, {}) if own else getattr(cls, kind, {})
        for name, reason in declared.items():
            if not isinstance(reason, str) or not reason.strip():
                raise TypeError(f"{cls.__name__}.{kind}[{name!r}] gives no reason")
            marks[name] = pytest.mark.xfail(reason=reason, **options)
    return marks


def mark_gaps(cls: type, root: type) -> None:
    """Mark those tests, as a whole, that a class declares.

    Raises:
        TypeError: There is no such test, or a reason is missing.
    """
    known = kit_tests(cls, root)
    for name, mark in gap_marks(cls, own=True).items():
        test, _, parameter = name.partition("[")
        if test not in known:
            raise TypeError(f"{cls.__name__} names {name!r}; the kit has no such test")
        if not parameter and test not in vars(cls):
            setattr(cls, test, mark(_copy(known[test])))


def parametrize(metafunc: pytest.Metafunc, name: str, table: Mapping[str, Any], cls: type) -> None:
    """Run a test once for each entry of `table`, as the argument `name`.

    An empty table skips the test, whatever the settings of pytest say of empty parameter sets.

    Raises:
        TypeError: `cls` names a case that is not there.
    """
    start = f"{metafunc.function.__name__}["
    marks = {test: mark for test, mark in gap_marks(cls).items() if test.startswith(start)}
    cases = []
    for key, value in table.items():
        mark = marks.pop(f"{start}{case(key)}]", None)
        cases.append(pytest.param(value, id=case(key), marks=mark or ()))
    for unknown in marks:
        raise TypeError(f"{cls.__name__} names {unknown!r}; the kit has no such test")
    if not cases:
        none = pytest.mark.skip(reason=f"the kit has no {name} for it")
        cases.append(pytest.param(None, id="none", marks=none))
    metafunc.parametrize(name, cases)


def case(key: str) -> str:
    """A name as pytest shows it."""
    return ascii(key)[1:-1]


def check_skips(definition: Any) -> None:
    """Single tests of the kit must not be skipped; a module may skip missing imports.

    Raises:
        TypeError: A test or its class is marked to be skipped.
    """
    for name in ("skip", "skipif"):
        for node, _ in definition.iter_markers_with_node(name):
            if not isinstance(node, (pytest.Module, pytest.Package)):
                raise TypeError(
                    f"{definition.name} of the kit is marked {name!r}; name in `gaps` what the "
                    "engine cannot do, or use pytest.importorskip for missing packages"
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
