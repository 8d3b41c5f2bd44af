"""How many lines the core may have; the number only ever falls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: Lines of all modules of the core together.
_MOST = 6470


def core_lines(root: Path) -> int:
    """Lines of the core's modules, blank ones and comments included."""
    base = root / "src" / "interpstack"
    return sum(path.read_text("utf-8").count("\n") for path in base.rglob("*.py"))


def test_the_core_stays_small(root: Path) -> None:
    assert core_lines(root) <= _MOST


def test_lines_of_any_module_count(root: Path, broken: Any) -> None:
    copy = broken({"src/interpstack/cells/loop.py": lambda text: text + "\n" * 7})
    assert core_lines(copy) == core_lines(root) + 7
