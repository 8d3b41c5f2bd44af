"""Worktrees of a git repository, in which agents work apart from each other and from its owner."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from interpstack import ConfigurationError, call_blocking
from interpstack_worktrees.git import Git, OutputTooLong, WorktreeError

__all__ = ["GitWorktrees", "Product", "Worktree"]

_log = logging.getLogger("interpstack.worktrees")
_BRANCHES: Final = "interpstack"
#: Branches of work that is too large for a patch; nothing removes them.
_KEPT: Final = "interpstack-kept"
_FOLDER: Final = "interpstack-worktree-"
#: Names of files that a product lists.
_MAX_FILES: Final = 1000
#: Bytes of the names of all files of a repository.
_NAMES_BYTES: Final = 1 << 28
_AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "interpstack"), ("EMAIL", "interpstack@localhost"))
}


@attrs.frozen(kw_only=True)
class Product:
    """The work in a worktree.

    Attributes:
        base: The commit from which it began.
        patch: The changes since then, for `git apply`: bytes that are not UTF-8 are lone
            surrogates, as Python's `surrogateescape` writes and reads them. `None` if the patch is
            larger than it may be.
        files: Names of changed files, the first 1,000.
        branch: The branch that has the work if there is no patch; `None` otherwise.
    """

    base: str
    patch: str | None
    files: tuple[str, ...]
    branch: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The product as plain JSON."""
        shown = {"patch": self.patch, "base": self.base, "files": list(self.files)}
        return shown if self.branch is None else {**shown, "branch": self.branch}


class Worktree:
    """One worktree, until it is removed.

    Args:
        git: Runs git.
        path: The folder of the worktree.
        branch: Its branch.
        base: The commit from which it began.
        patch_bytes: Bytes of a patch at most.

    Attributes:
        path: The folder of the worktree.
        base: The commit from which it began.
    """

    def __init__(self, git: Git, path: Path, branch: str, base: str, patch_bytes: int) -> None:
        self.path = path
        self.base = base
        self._git = git
        self._branch = branch
        self._patch_bytes = patch_bytes

    async def product(self) -> Product:
        """The work so far; ignored files, and changes within submodules, are not a part of it.

        Raises:
            WorktreeError: Git fails.
        """
        await self._add()
        names = await self._git.run(
            *("diff", "--cached", "--name-only", "--no-renames", "-z", self.base),
            worktree=self.path,
            output_bytes=_NAMES_BYTES,
        )
        files = [_text(name) for name in names.split(b"\0")[:_MAX_FILES] if name]
        try:
            patch = await self._git.run(
                *("diff", "--cached", "--binary", "--full-index", "--no-renames", "--no-color"),
                *("--no-ext-diff", "--no-textconv", self.base),
                worktree=self.path,
                output_bytes=self._patch_bytes,
            )
        except OutputTooLong:
            branch = await self._keep()
            return Product(base=self.base, patch=None, files=tuple(files), branch=branch)
        return Product(base=self.base, patch=_text(patch), files=tuple(files))

    async def apply(self, patch: str) -> None:
        """Make the changes of a product in a fresh worktree.

        Raises:
            WorktreeError: They do not fit.
        """
        if patch:
            data = patch.encode("utf-8", "surrogateescape")
            await self._git.run(
                "apply", "--index", "--whitespace=nowarn", "-", worktree=self.path, stdin=data
            )

    async def remove(self) -> None:
        """Remove the folder and the branch; a second time, nothing happens."""
        await _removed(self._git, self.path, self._branch)

    async def _add(self) -> None:
        """Put all changes into the index.

        Git would ask submodules for their state, by their own settings, which name programs.
        """
        staged = await self._git.run(
            "ls-files", "--stage", "-z", worktree=self.path, output_bytes=_NAMES_BYTES
        )
        modules = [line.partition(b"\t")[2] for line in staged.split(b"\0") if _is_module(line)]
        paths = [b".", *(b":(exclude,literal)" + name for name in modules)]
        await self._git.run(
            *("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"),
            worktree=self.path,
            stdin=b"\0".join(paths),
        )

    async def _keep(self) -> str:
        """Commit the work to a branch that stays; returns its name."""
        tree = (await self._git.run("write-tree", worktree=self.path)).decode().strip()
        message = "Work of an agent of a workflow"
        commit = await self._git.run(
            "commit-tree", tree, "-p", self.base, "-m", message, worktree=self.path, env=_AUTHOR
        )
        branch = self._branch.replace(_BRANCHES, _KEPT, 1)
        await self._git.run("update-ref", f"refs/heads/{branch}", commit.decode().strip())
        return branch


class GitWorktrees:
    """Makes worktrees of one repository, for calls of agents with `isolation: "worktree"`.

    Args:
        repository: The root of the repository.
        base: The commit from which worktrees begin: a branch, a tag or a hash.
        folder: The folder for worktrees; by default, the folder for temporary files.
        patch_bytes: Largest patch in bytes. Larger work is committed to a branch that stays.
        seconds: Seconds that one command of git may take.

    Raises:
        ConfigurationError: Git is not installed, the folder is not the root of a repository, or an
            argument has a wrong value.
    """

    def __init__(
        self,
        repository: Path | str,
        *,
        base: str = "HEAD",
        folder: Path | str | None = None,
        patch_bytes: int = 1 << 20,
        seconds: float = 120.0,
    ) -> None:
        if not isinstance(base, str) or not base or base.startswith("-"):
            raise ConfigurationError(f"GitWorktrees: base takes a commit; got {base!r:.100}")
        if type(patch_bytes) is not int or patch_bytes < 1:
            raise ConfigurationError(
                f"GitWorktrees: patch_bytes takes a whole number from 1; got {patch_bytes!r:.100}"
            )
        if type(seconds) not in (int, float) or not 0 < seconds < math.inf:
            raise ConfigurationError(
                f"GitWorktrees: seconds takes a number above 0; got {seconds!r:.100}"
            )
        self._folder = Path(tempfile.gettempdir() if folder is None else folder).resolve()
        if not self._folder.is_dir():
            raise ConfigurationError(f"GitWorktrees: there is no folder {str(folder)!r:.200}")
        self._git = Git(Path(repository), seconds)
        self._base = base
        self._patch_bytes = patch_bytes

    async def open(self, key: str, saved: Mapping[str, Any] | None = None) -> Worktree:
        """Make a worktree.

        Args:
            key: Identifies the step of a run, as `AgentCall.key` does.
            saved: The product of an earlier worktree, with which this one begins.

        Raises:
            WorktreeError: Git fails, or has no such commit.
        """
        commit = f"{saved['base'] if saved else self._base}^{{commit}}"
        base = (await self._git.run("rev-parse", "--verify", commit)).decode().strip()
        name = f"{_digest(key)}-{secrets.token_hex(4)}"
        branch = f"{_branches(key.partition('/')[0])}{name}"
        above = await call_blocking(lambda: tempfile.mkdtemp(prefix=_FOLDER, dir=self._folder))
        tree = Worktree(self._git, Path(above) / name, branch, base, self._patch_bytes)
        try:
            async with self._git.alone():
                await self._git.run(
                    *("worktree", "add", "--no-checkout", "-b", branch, "--", str(tree.path), base)
                )
            await self._git.run("reset", "--hard", "--quiet", worktree=tree.path)
            if saved and saved.get("patch"):
                await tree.apply(saved["patch"])
        except BaseException:
            await tree.remove()
            raise
        return tree

    async def sweep(self, run_id: str) -> int:
        """Remove the worktrees that dead processes have left of a run; returns their number.

        Raises:
            WorktreeError: Git fails.
        """
        start = _branches(run_id)
        async with self._git.alone():
            listed = await self._git.run("worktree", "list", "--porcelain", "-z")
        found = [(path, name) for path, name in _worktrees(listed) if name.startswith(start)]
        for path, branch in found:
            if path.parent.name.startswith(_FOLDER):  # else a person has moved it
                await _removed(self._git, path, branch)
        async with self._git.alone():
            names = await self._git.run(
                "for-each-ref", "--format=%(refname)", f"refs/heads/{start}"
            )
            for ref in names.decode().split():
                await self._git.run("update-ref", "-d", ref)
        return len(found)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _is_module(line: bytes) -> bool:
    return line.startswith(b"160000 ")


async def _removed(git: Git, path: Path, branch: str) -> None:
    async with git.alone():
        try:
            await git.run("worktree", "remove", "--force", "--force", "--", str(path))
        except WorktreeError:  # an agent may have changed anything in it
            await call_blocking(lambda: shutil.rmtree(path, ignore_errors=True))
            await git.run("worktree", "prune")
        await git.run("update-ref", "-d", f"refs/heads/{branch}")
    try:
        path.parent.rmdir()
    except OSError as error:
        if path.parent.exists():
            _log.warning("The folder %s of a worktree cannot be removed: %s", path.parent, error)


def _worktrees(listed: bytes) -> Iterator[tuple[Path, str]]:
    """Paths and branches of all worktrees that have a branch."""
    for record in listed.split(b"\0\0"):
        fields = dict(line.partition(b" ")[::2] for line in record.split(b"\0"))
        if b"branch" in fields and b"worktree" in fields:
            branch = _text(fields[b"branch"]).removeprefix("refs/heads/")
            yield Path(os.fsdecode(fields[b"worktree"])), branch


def _branches(run_id: str) -> str:
    """The beginning of the branches of a run."""
    plain = run_id.replace("-", "").replace("_", "").isalnum() and run_id.isascii()
    return f"{_BRANCHES}/{run_id if plain else _digest(run_id)}/"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
