"""Worktrees."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from git_repositories import git, left_of, repository

from interpstack import ConfigurationError
from interpstack_worktrees import GitWorktrees, Worktree, WorktreeError

__all__ = ["repository"]


@pytest.fixture
def trees(repository: Path, tmp_path: Path) -> GitWorktrees:
    (tmp_path / "trees").mkdir()
    return GitWorktrees(repository, folder=tmp_path / "trees")


def _work(path: Path) -> None:
    """Changes of all kinds: text, bytes, names, modes, links."""
    (path / "a.txt").write_bytes(b"one\r\n\xff latin\n")
    (path / "b.bin").write_bytes(bytes(reversed(range(256))))
    (path / "new").mkdir()
    (path / "new" / "é \n.txt").write_text("ü", "utf-8")
    (path / "run.sh").write_text("#!/bin/sh\n")
    (path / "run.sh").chmod(0o755)
    (path / "link").symlink_to("a.txt")
    (path / ".gitignore").unlink()


def _contents(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in sorted(path.rglob("*")):
        name = str(one.relative_to(path))
        if one.is_symlink():
            found[name] = str(one.readlink())
        elif one.is_file() and name != ".git" and not name.startswith(".git/"):
            found[name] = one.read_bytes(), bool(one.stat().st_mode & stat.S_IXUSR)
    return found


async def test_a_worktree_is_apart_and_goes_without_a_trace(
    trees: GitWorktrees, repository: Path, tmp_path: Path
) -> None:
    tree = await trees.open("run_1/root/sig_1")
    assert tree.path.is_relative_to(tmp_path / "trees")
    assert tree.path.parent.stat().st_mode & 0o077 == 0, "nobody else may look at it"
    assert _contents(tree.path) == _contents(repository)
    assert left_of(repository)[1].startswith("interpstack/run_1/")
    _work(tree.path)
    assert git(repository, "status", "--short") == ""
    await tree.remove()
    await tree.remove()
    assert left_of(repository) == []
    assert list((tmp_path / "trees").iterdir()) == []


async def test_a_patch_has_every_byte(
    trees: GitWorktrees, repository: Path, tmp_path: Path
) -> None:
    tree = await trees.open("run_1/root/sig_1")
    empty = await tree.product()
    assert (empty.patch, empty.files) == ("", ())
    _work(tree.path)
    (tree.path / "kept").write_text("k")
    product = await tree.product()
    assert product.base == git(repository, "rev-parse", "HEAD").strip()
    assert product.patch is not None
    assert "\udcff" in product.patch
    assert set(product.files) >= {"a.txt", "b.bin", "link", "new/é \n.txt", ".gitignore"}
    applied = tmp_path / "applied"
    git(tmp_path, "clone", "-q", str(repository), str(applied))
    git(applied, "apply", "-", input=product.patch.encode("utf-8", "surrogateescape"))
    assert _contents(applied) == _contents(tree.path)
    again = await trees.open("run_1/root/sig_1", product.to_json())
    assert _contents(again.path) == _contents(tree.path)
    assert (await again.product()).patch == product.patch
    for one in (tree, again):
        await one.remove()


async def test_ignored_files_are_no_work(trees: GitWorktrees) -> None:
    tree = await trees.open("run_1/root/sig_1")
    (tree.path / "ignored").write_text("x")
    assert (await tree.product()).files == ()
    await tree.remove()


async def test_commits_of_the_agent_are_work_too(trees: GitWorktrees, repository: Path) -> None:
    tree = await trees.open("run_1/root/sig_1")
    (tree.path / "c.txt").write_text("c\n")
    git(tree.path, "add", "-A")
    git(tree.path, "commit", "-q", "-m", "Agent")
    product = await tree.product()
    assert product.files == ("c.txt",)
    await tree.remove()
    assert left_of(repository) == []


async def test_work_that_is_too_large_stays_on_a_branch(repository: Path) -> None:
    trees = GitWorktrees(repository, patch_bytes=2000)
    tree = await trees.open("run_1/root/sig_1")
    (tree.path / "big").write_bytes(os.urandom(5000))
    product = await tree.product()
    await tree.remove()
    await trees.sweep("run_1")
    assert product.patch is None
    assert product.to_json()["branch"] == product.branch
    assert left_of(repository) == [product.branch]
    changed = git(repository, "diff", "--name-only", product.base, str(product.branch))
    assert changed == "big\n"


async def test_a_worktree_begins_where_the_host_says(repository: Path) -> None:
    git(repository, "branch", "old")
    (repository / "a.txt").write_text("later\n")
    git(repository, "commit", "-q", "-a", "-m", "Second")
    tree = await GitWorktrees(repository, base="old").open("run_1/root/sig_1")
    assert (tree.path / "a.txt").read_text() == "one\ntwo\n"
    await tree.remove()


async def test_many_worktrees_at_once(trees: GitWorktrees, repository: Path) -> None:
    async def one(number: int) -> str | None:
        tree = await trees.open(f"run_1/root/sig_{number}")
        (tree.path / "n").write_text(str(number))
        product = await tree.product()
        await tree.remove()
        return product.patch

    patches = await asyncio.gather(*(one(number) for number in range(12)))
    assert [f"+{number}\n" in str(patch) for number, patch in enumerate(patches)] == [True] * 12
    assert left_of(repository) == []


async def test_what_a_dead_process_left_is_removed(
    trees: GitWorktrees, repository: Path, tmp_path: Path
) -> None:
    mine = [await trees.open("run_1/root/sig_1"), await trees.open("run_1/root/sig_2")]
    other = await trees.open("run_10/root/sig_1")
    odd = await trees.open("r.1..x/root/sig_1")
    shutil.rmtree(mine[1].path)  # a machine that starts again has no temporary files
    (mine[0].path / ".git").unlink()
    (mine[0].path / ".git").mkdir()
    git(repository, "branch", "interpstack/run_1/branch-alone")
    assert await trees.sweep("run_1") == 2
    assert await trees.sweep("run_1") == 0
    assert not mine[0].path.exists()
    assert len(left_of(repository)) == 4
    assert await trees.sweep("run_10") == 1
    assert await trees.sweep("r.1..x") == 1
    assert left_of(repository) == []
    assert not other.path.exists()
    assert not odd.path.exists()


async def _hostile(tree: Worktree, marker: Path, origin: str) -> None:
    """Let a worktree say how git works: by its own `.git`, a hook, drivers, a repository in it."""
    command = f"touch {marker}"
    (tree.path / ".git").unlink()
    git(tree.path, "init", "-q")
    for setting in ("core.fsmonitor", "core.pager", "diff.external", "filter.x.clean"):
        git(tree.path, "config", setting, command)
    (tree.path / ".gitattributes").write_text("* filter=x diff=x\n")
    hook = tree.path / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{command}\n")
    hook.chmod(0o755)
    git(tree.path, "clone", "-q", origin, "inner")
    git(tree.path / "module", "clone", "-q", origin, ".")
    git(tree.path / "module", "checkout", "-q", "HEAD~1")  # a submodule that looks unchanged
    (tree.path / "module" / ".gitattributes").write_text("* filter=x\n")
    (tree.path / "module" / "a.txt").write_text("changed\n")
    git(tree.path / "module", "config", "filter.x.clean", command)
    for name in ("inner", "module"):
        git(tree.path / name, "config", "core.fsmonitor", command)
        git(tree.path / name, "config", "core.hooksPath", str(hook.parent))


async def test_a_worktree_does_not_say_what_git_runs(
    trees: GitWorktrees, repository: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "run"
    commit = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit},module")
    git(repository, "commit", "-q", "-m", "Module")
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    tree = await trees.open("run_1/root/sig_1")
    await _hostile(tree, marker, str(repository))
    (tree.path / "c.txt").write_text("c\n")
    product = await tree.product()
    assert "c.txt" in product.files
    assert (await tree.product()).files == product.files
    await tree.remove()
    assert not marker.exists()
    assert not tree.path.exists()
    assert left_of(repository) == []


async def test_failures_leave_nothing(
    trees: GitWorktrees, repository: Path, tmp_path: Path
) -> None:
    base = git(repository, "rev-parse", "HEAD").strip()
    with pytest.raises(WorktreeError, match="git apply failed"):
        await trees.open("run_1/root/sig_1", {"base": base, "patch": "no patch"})
    with pytest.raises(WorktreeError, match="git rev-parse failed"):
        await trees.open("run_1/root/sig_1", {"base": "f" * 40, "patch": ""})
    escape = "diff --git a/../out b/../out\nnew file mode 100644\n--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+x\n"  # fmt: skip # noqa: E501
    with pytest.raises(WorktreeError, match="git apply failed"):
        await trees.open("run_1/root/sig_1", {"base": base, "patch": escape})
    assert left_of(repository) == []
    assert list((tmp_path / "trees").iterdir()) == []


async def test_a_repository_without_a_commit_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    with pytest.raises(WorktreeError, match="git rev-parse failed"):
        await GitWorktrees(tmp_path).open("run_1/root/sig_1")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"base": "--all"}, "base takes a commit; got '--all'"),
        ({"base": ""}, "base takes a commit"),
        ({"patch_bytes": 0}, "patch_bytes takes a whole number from 1; got 0"),
        ({"seconds": float("inf")}, "seconds takes a number above 0; got inf"),
        ({"folder": "/no/such"}, "there is no folder '/no/such'"),
    ],
)
def test_wrong_arguments_are_refused(repository: Path, given: Any, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        GitWorktrees(repository, **given)
