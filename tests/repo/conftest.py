"""A copy of the repository that tests may break."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import parsed
import pytest

_SKIPPED = shutil.ignore_patterns(
    ".*_cache", ".git", ".hypothesis", ".tox", ".venv", "*.pyc", "__pycache__", "node_modules"
)
#: New text of a file, or what to make of its old text; `None` deletes it.
Change = str | Callable[[str], str] | None
Break = Callable[[dict[str, Change]], Path]


@pytest.fixture(scope="package", autouse=True)
def _trees() -> Iterator[None]:
    yield
    parsed.forget()


@pytest.fixture(scope="session")
def root() -> Path:
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def copied(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("repo") / "copy"
    shutil.copytree(root, copy, ignore=_SKIPPED)
    return copy


@pytest.fixture
def broken(copied: Path) -> Iterator[Break]:
    """Changes files of the copy, by path, until the end of the test."""
    before: dict[Path, str | None] = {}

    def make(changes: dict[str, Change]) -> Path:
        for name, change in changes.items():
            path = copied / name
            old = before[path] = path.read_text("utf-8") if path.exists() else None
            new = change(old or "") if callable(change) else change
            assert new != old, f"{name} has already what the test was to write"
            _write(path, new)
        return copied

    yield make
    for path, old in before.items():
        _write(path, old)


def _write(path: Path, text: str | None) -> None:
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return
    path.unlink()
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
