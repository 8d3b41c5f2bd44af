"""Git as a program, on a repository that the host names.

A worktree holds whatever an agent has put there, so nothing in it says how git works: neither its
`.git` file, nor hooks, drivers or a monitor that a repository inside it could name.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final

from interpstack import ConfigurationError, InterpstackError, call_blocking
from interpstack_commands import run_process

__all__ = ["Git", "OutputTooLong", "WorktreeError"]

#: Settings that hold for all commands.
_SETTINGS: Final = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.quotePath=true"),
    *("diff.noprefix=false", "diff.mnemonicPrefix=false", "diff.relative=false"),
    *("submodule.recurse=false", "gc.auto=0", "maintenance.auto=false", "core.longpaths=true"),
)
_QUIET: Final = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
#: Bytes of output, where a command has no limit of its own.
_OUTPUT_BYTES: Final = 1 << 22
_CHECK_SECONDS: Final = 30.0
#: The file that a change of the list of worktrees locks, and seconds between two tries.
_LOCK: Final = "interpstack-worktrees.lock"
_LOCK_SECONDS: Final = 0.005


class WorktreeError(InterpstackError, RuntimeError):
    """A worktree cannot be made, read or removed; the message includes that of git."""


class OutputTooLong(WorktreeError):
    """A command of git writes more than it may."""


class Git:
    """Runs git on one repository.

    Args:
        folder: The root of the repository.
        seconds: How long a command may take.

    Raises:
        ConfigurationError: Git is not installed, or the folder is not the root of a repository.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        program = shutil.which("git")
        if program is None:
            raise ConfigurationError("worktrees need git, which is not installed")
        self._program = program
        self._seconds = seconds
        self.folder = folder.resolve()
        self.common = Path(self._common_dir())

    async def run(
        self,
        *arguments: str,
        worktree: Path | None = None,
        stdin: bytes | None = None,
        env: Mapping[str, str] | None = None,
        output_bytes: int = _OUTPUT_BYTES,
    ) -> bytes:
        """Run a command; returns its output.

        Args:
            arguments: The command.
            worktree: The worktree that it is about; `None` for the repository itself.
            stdin: Its input.
            env: Further variables.
            output_bytes: Bytes that it may write.

        Raises:
            OutputTooLong: It writes more.
            WorktreeError: It fails, or takes too long.
        """
        variables = {**_environment(), **(env or {})}
        if worktree is not None:
            own = str(self.common / "worktrees" / worktree.name)
            variables |= {"GIT_DIR": own, "GIT_WORK_TREE": str(worktree)}
        name = f"git {arguments[0]}"
        try:
            done = await run_process(
                [self._program, *_settings(), *arguments],
                cwd=worktree or self.folder,
                env=variables,
                stdin=stdin,
                seconds=self._seconds,
                output_bytes=output_bytes,
            )
        except TimeoutError:
            raise WorktreeError(f"{name} took longer than {self._seconds:g} s") from None
        except OSError as error:
            raise WorktreeError(f"{name} cannot be started: {error.strerror}") from error
        if done.code:
            text = done.stderr.decode("utf-8", "replace").strip()
            raise WorktreeError(f"{name} failed: {text[-1000:] or f'exit code {done.code}'}")
        if "stdout" in done.truncated:
            raise OutputTooLong(f"{name} writes more than {output_bytes} bytes")
        return done.stdout

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Exclude others that change the list of worktrees: git stumbles over half of an entry.

        Holds for all runners on the repository, in all processes, where the system has such locks.

        Raises:
            WorktreeError: The others take too long, or the repository cannot be written.
        """
        try:
            file = await call_blocking(lambda: (self.common / _LOCK).open("w"))
        except OSError as error:
            raise WorktreeError(f"{self.common} cannot be written: {error.strerror}") from error
        with file:
            until = time.monotonic() + self._seconds
            while not _locked(file):
                if time.monotonic() > until:
                    raise WorktreeError(
                        f"other processes have kept the worktrees of {self.folder} locked for "
                        f"{self._seconds:g} s; try again later"
                    )
                await asyncio.sleep(_LOCK_SECONDS)
            yield

    def _common_dir(self) -> str:
        wanted = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--show-prefix")
        try:
            done = subprocess.run(  # noqa: S603 - the program is looked up above
                [self._program, *_settings(), *wanted],
                cwd=self.folder,
                env=_environment(),
                capture_output=True,
                timeout=_CHECK_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ConfigurationError(
                f"git did not answer in {str(self.folder)!r} for {_CHECK_SECONDS} s; try "
                "'git status' there"
            ) from error
        except OSError as error:
            raise ConfigurationError(
                f"{str(self.folder)!r} cannot be used by git: {error.strerror}; name the root of a "
                "git repository"
            ) from error
        if done.returncode:
            text = done.stderr.decode("utf-8", "replace").strip()
            raise ConfigurationError(
                f"{str(self.folder)!r} is not a git repository; name one, or run git init in it:"
                f" {text[-500:]}"
            )
        common, prefix = os.fsdecode(done.stdout).split("\n")[:2]
        if prefix:
            raise ConfigurationError(
                f"{str(self.folder)!r} is a folder of a git repository; name the root of it,"
                f" {str(self.folder)[: -len(prefix)]!r}"
            )
        return common


def _locked(file: IO[str]) -> bool:
    """Whether a file could be locked; the lock ends when the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _settings() -> list[str]:
    return [part for setting in _SETTINGS for part in ("-c", setting)]


def _environment() -> dict[str, str]:
    """The environment of this process, without what would lead git elsewhere."""
    given = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**given, **_QUIET}
