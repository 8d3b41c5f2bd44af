"""Commands as processes of this machine, in one folder.

The commands that the host names run with the rights of the host's own user: they can do whatever
their arguments, which scripts choose, let them do.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from interpstack import ConfigurationError
from interpstack_commands.processes import run_process
from interpstack_commands.sandbox import OUTPUT_BYTES, ExecRefused, ExecSpec, ExecTimeout

__all__ = ["LocalSandbox"]

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: What all arguments and variables of a command take together, in bytes of UTF-8.
_ARGUMENT_BYTES: Final = 100_000
_STDIN_BYTES: Final = 1 << 20


class LocalSandbox:
    """Runs commands that the host names, in a folder, without a shell.

    ```python
    build = LocalSandbox("project", commands=("make", "pytest"), env=("PATH",))
    runner = WorkflowRunner(agents=agents, sandboxes={"local/build": build})
    ```

    Args:
        cwd: The folder. Scripts may name folders in it.
        commands: Programs that scripts may call: names, which are looked up now in the `PATH` of
            this process, or absolute paths.
        env: The environment of the commands: names of variables to take from this process now, or a
            mapping with their values. There are no other variables.
        script_env: Variables that scripts may set.
        seconds: Seconds that a command may run.
        output_bytes: Bytes of standard output, and of standard error, that are kept.
        stdin_bytes: Bytes of input that a script may give.

    Raises:
        ConfigurationError: A folder or a program does not exist, or an argument is wrong.
    """

    def __init__(
        self,
        cwd: Path | str,
        *,
        commands: Iterable[str],
        env: Iterable[str] | Mapping[str, str] = (),
        script_env: Iterable[str] = (),
        seconds: float = 600.0,
        output_bytes: int = OUTPUT_BYTES,
        stdin_bytes: int = _STDIN_BYTES,
    ) -> None:
        self._cwd = Path(cwd).resolve()
        if not self._cwd.is_dir():
            raise ConfigurationError(f"LocalSandbox: there is no folder {str(cwd)!r}")
        self._programs = {name: _program(name) for name in _listed("commands", commands)}
        if not self._programs:
            raise ConfigurationError("LocalSandbox: commands has to name at least one program")
        self._env = _environment(env)
        self._script_env = frozenset(_variables("script_env", script_env))
        self._seconds = _positive("seconds", seconds, (int, float))
        self._output_bytes = _positive("output_bytes", output_bytes, (int,))
        self._stdin_bytes = _positive("stdin_bytes", stdin_bytes, (int,))

    async def __call__(self, spec: ExecSpec) -> Mapping[str, Any]:
        """Run a command.

        Raises:
            ExecRefused: The host does not allow it; nothing was run.
            ExecTimeout: It took too long; all its processes were killed.
        """
        command = self._command(spec)
        env, stdin = self._environment(command, spec.env), self._stdin(spec.stdin)
        try:
            done = await run_process(
                command,
                cwd=self._folder(spec.cwd),
                env=env,
                stdin=stdin,
                seconds=self._seconds,
                output_bytes=self._output_bytes,
            )
        except TimeoutError:
            raise ExecTimeout(
                f"{spec.command} took longer than {self._seconds:g} s, and was killed"
            ) from None
        except OSError as error:
            raise ExecRefused(f"{spec.command} cannot be started: {error.strerror}") from error
        streams = {"stdout": done.stdout, "stderr": done.stderr}
        return {"exitCode": done.code, **streams, "truncated": done.truncated}

    def _command(self, spec: ExecSpec) -> list[str]:
        program = self._programs.get(spec.command)
        if program is None:
            known = ", ".join(sorted(self._programs))
            raise ExecRefused(f"the command {spec.command!r:.100} is not allowed; allowed: {known}")
        for number, argument in enumerate(spec.args):
            if not isinstance(argument, str) or not _is_plain(argument):
                raise ExecRefused(f"args[{number}] of {spec.command} has to be text without NUL")
        return [program, *spec.args]

    def _environment(self, command: list[str], wanted: Mapping[str, str]) -> Mapping[str, str]:
        for name, value in wanted.items():
            if name not in self._script_env:
                known = ", ".join(sorted(self._script_env)) or "none"
                raise ExecRefused(
                    f"the variable {name!r:.100} is not allowed; scripts may set: {known}"
                )
            if not isinstance(value, str) or not _is_plain(value):
                raise ExecRefused(f"the variable {name} has to be text without NUL")
        texts = [*command, *wanted, *wanted.values()]
        if (size := sum(len(text.encode()) for text in texts)) > _ARGUMENT_BYTES:
            raise ExecRefused(
                f"arguments and variables take {size} bytes; {_ARGUMENT_BYTES} are allowed, and"
                " more can be given as stdin"
            )
        return {**self._env, **wanted}

    def _stdin(self, text: str | None) -> bytes | None:
        if text is None:
            return None
        data = text.encode("utf-8", "replace")
        if len(data) > self._stdin_bytes:
            raise ExecRefused(f"stdin takes {len(data)} bytes; {self._stdin_bytes} are allowed")
        return data

    def _folder(self, wanted: str | None) -> Path:
        if wanted is None:
            return self._cwd
        if not _is_plain(wanted):
            raise ExecRefused("cwd has to be text without NUL")
        folder = (self._cwd / wanted).resolve()
        if Path(wanted).is_absolute() or not folder.is_relative_to(self._cwd):
            raise ExecRefused(f"cwd {wanted!r:.100} leaves the folder of the sandbox")
        if not folder.is_dir():
            raise ExecRefused(f"cwd: the sandbox has no folder {wanted!r:.100}")
        return folder


def _program(name: str) -> str:
    if not name or ("/" in name and not Path(name).is_absolute()):
        raise ConfigurationError(
            f"LocalSandbox: commands takes names of programs and absolute paths; got {name!r:.100}"
        )
    found = shutil.which(name)
    if found is None:
        raise ConfigurationError(f"LocalSandbox: commands: there is no program {name!r:.100}")
    return str(Path(found).absolute())


def _environment(given: Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    if not isinstance(given, Mapping):
        return {name: os.environ[name] for name in _variables("env", given) if name in os.environ}
    for name in _variables("env", given):
        if not isinstance(given[name], str) or not _is_plain(given[name]):
            raise ConfigurationError(f"LocalSandbox: env: {name} takes text without NUL")
    return dict(given)


def _variables(option: str, names: Iterable[str]) -> list[str]:
    listed = _listed(option, names)
    for name in listed:
        if not _NAME.match(name):
            raise ConfigurationError(
                f"LocalSandbox: {option} takes names of variables; got {name!r:.100}"
            )
    return listed


def _listed(option: str, names: Iterable[str]) -> list[str]:
    listed = [] if isinstance(names, str) else list(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in listed):
        shown = f"{(names if isinstance(names, str) else listed)!r:.100}"
        raise ConfigurationError(f"LocalSandbox: {option} takes a list of names; got {shown}")
    return listed


def _positive(option: str, value: Any, kinds: tuple[type, ...]) -> Any:
    if type(value) not in kinds or not 0 < value < float("inf"):
        raise ConfigurationError(
            f"LocalSandbox: {option} takes a number above 0; got {value!r:.100}"
        )
    return value


def _is_plain(text: str) -> bool:
    """Whether a text can be passed to a program: no NUL, no half of a surrogate pair."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False
