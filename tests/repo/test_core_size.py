"""How many lines the core and the runtime may have; the numbers only ever fall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

#: Lines of all modules of a package together.
_MOST = {"interpstack_core": 3398, "interpstack": 3400}


def lines(root: Path, package: str) -> int:
    """Lines of a package's modules, blank ones and comments included."""
    base = root / "src" / package
    return sum(path.read_text("utf-8").count("\n") for path in base.rglob("*.py"))


@pytest.mark.parametrize("package", _MOST)
def test_the_packages_stay_small(root: Path, package: str) -> None:
    assert lines(root, package) <= _MOST[package]


@pytest.mark.parametrize("package", _MOST)
def test_lines_of_any_module_count(root: Path, broken: Any, package: str) -> None:
    copy = broken({f"src/{package}/cells/__init__.py": lambda text: text + "\n" * 7})
    assert lines(copy, package) == lines(root, package) + 7
