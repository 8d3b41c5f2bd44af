"""Copies of the repository that a test may break."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

_SKIPPED = shutil.ignore_patterns(
    ".*_cache", ".git", ".hypothesis", ".tox", ".venv", "*.pyc", "__pycache__", "node_modules"
)
#: A broken copy: takes paths and what to do to each file's text.
Break = Callable[..., Path]


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).parents[2]


@pytest.fixture
def broken(root: Path, tmp_path: Path) -> Break:
    """Copies the repository and writes files in the copy.

    Each argument is a path and its new text, or a function of its old text; `None` deletes it.
    """

    def make(changes: dict[str, str | Callable[[str], str] | None]) -> Path:
        copy = tmp_path / "copy"
        shutil.copytree(root, copy, ignore=_SKIPPED)
        for name, change in changes.items():
            path = copy / name
            if change is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            old = path.read_text("utf-8") if path.exists() else ""
            new = change(old) if callable(change) else change
            assert new != old, f"{name} has already what the test was to write"
            path.write_text(new, "utf-8")
        return copy

    return make
