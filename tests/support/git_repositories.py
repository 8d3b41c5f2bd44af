"""Repositories of git for tests, made with the real program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

__all__ = ["git", "left_of", "repository"]

_WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def git(folder: Path, *arguments: str, **given: Any) -> str:
    """The output of a command of git in a folder."""
    done = subprocess.run(
        ["git", *_WHO, *arguments], cwd=folder, check=True, capture_output=True, **given
    )
    return done.stdout.decode("utf-8", "surrogateescape")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit of three files; one of them is binary."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.bin").write_bytes(bytes(range(256)))
    (folder / ".gitignore").write_text("ignored\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "First")
    return folder


def left_of(folder: Path) -> list[str]:
    """Worktrees and branches beside those that the repository had at first."""
    trees = [line for line in git(folder, "worktree", "list", "--porcelain").splitlines() if line]
    refs = git(folder, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    paths = [line for line in trees if line.startswith("worktree ")][1:]
    return [*paths, *(ref for ref in refs if ref != "main")]
