"""Git as a program."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from git_repositories import git, repository

from interpstack import ConfigurationError
from interpstack_worktrees.git import Git, OutputTooLong, WorktreeError

__all__ = ["repository"]


async def test_commands_run_on_the_repository(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")  # as inside of a hook of another repository
    found = Git(repository, 30.0)
    assert found.common == repository / ".git"
    assert (await found.run("rev-parse", "--is-bare-repository")) == b"false\n"
    assert (await found.run("cat-file", "--batch", stdin=b"nothing\n")) == b"nothing missing\n"


async def test_failures_say_what_git_says(repository: Path) -> None:
    found = Git(repository, 30.0)
    with pytest.raises(WorktreeError, match="git rev-parse failed: fatal: Needed a single rev"):
        await found.run("rev-parse", "--verify", "none")
    with pytest.raises(OutputTooLong, match="git cat-file writes more than 3 bytes"):
        await found.run("cat-file", "-p", "HEAD", output_bytes=3)
    git(repository, "config", "alias.wait", "!sleep 30")
    with pytest.raises(WorktreeError, match=r"git wait took longer than 0\.1 s"):
        await Git(repository, 0.1).run("wait")


async def test_changes_of_the_list_exclude_each_other(repository: Path) -> None:
    first, second, inside = Git(repository, 30.0), Git(repository, 30.0), 0

    async def one(found: Git) -> None:
        nonlocal inside
        async with found.alone():
            inside += 1
            assert inside == 1
            await found.run("worktree", "list")
            inside -= 1

    await asyncio.gather(*(one(found) for found in (first, second) * 4))
    async with first.alone():
        with pytest.raises(WorktreeError, match=r"have kept the worktrees of .* locked for 0\.1 s"):
            async with Git(repository, 0.1).alone():
                pass


async def test_a_repository_that_cannot_be_written_says_so(repository: Path) -> None:
    found = Git(repository, 30.0)
    (repository / ".git" / "interpstack-worktrees.lock").mkdir()
    with pytest.raises(WorktreeError, match="cannot be written: Is a directory"):
        async with found.alone():
            pass


def test_other_folders_are_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        ConfigurationError, match="is not a git repository; name one, or run git init"
    ):
        Git(tmp_path, 30.0)
    with pytest.raises(ConfigurationError, match="by git: No such file or directory; name the"):
        Git(tmp_path / "none", 30.0)
    (repository / "sub").mkdir()
    with pytest.raises(ConfigurationError, match="is a folder of a git repository; name the root"):
        Git(repository / "sub", 30.0)
    assert git(repository, "status", "--short") == ""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ConfigurationError, match="worktrees need git, which is not installed"):
        Git(repository, 30.0)
