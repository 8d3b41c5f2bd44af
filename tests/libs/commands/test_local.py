"""Commands on this machine: those that the host allows, in its folder, with nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_commands import ExecRefused, ExecSpec, ExecTimeout, LocalSandbox

_SHOW = "import os, sys; print(os.getcwd(), sorted(os.environ.items()), sys.argv[1:])"


def _python(folder: Path, **options: Any) -> LocalSandbox:
    return LocalSandbox(folder, commands=[sys.executable, "true"], **options)


def _spec(code: str, *args: str, **fields: Any) -> ExecSpec:
    return ExecSpec(sys.executable, ("-c", code, *args), **fields)


async def test_a_command_runs_in_the_folder_without_a_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s")
    monkeypatch.setenv("TAKEN", "t")
    (tmp_path / "sub").mkdir()
    sandbox = _python(tmp_path, env=("TAKEN", "NOT_THERE"), script_env=("CHOSEN", "LC_CTYPE"))
    chosen = {"CHOSEN": "$TAKEN", "LC_CTYPE": "C.UTF-8"}
    done = await sandbox(_spec(_SHOW, "*; $(ls)", cwd="sub", env=chosen))
    shown = f"{tmp_path}/sub {sorted({**chosen, 'TAKEN': 't'}.items())} ['*; $(ls)']\n"
    assert (done["exitCode"], done["stdout"].decode()) == (0, shown)


async def test_the_environment_may_be_given(tmp_path: Path) -> None:
    sandbox = _python(tmp_path, env={"A": "1", "LC_CTYPE": "C.UTF-8"})
    done = await sandbox(_spec(_SHOW))
    assert b"[('A', '1'), ('LC_CTYPE', 'C.UTF-8')]" in done["stdout"]


async def test_a_command_has_its_time_and_its_room(tmp_path: Path) -> None:
    sandbox = _python(tmp_path, seconds=0.5, output_bytes=4)
    with pytest.raises(ExecTimeout, match=r"took longer than 0\.5 s, and was killed"):
        await sandbox(_spec("import time; time.sleep(600)"))
    done = await _python(tmp_path, output_bytes=4)(_spec("print('x' * 100)"))
    assert (done["stdout"], done["truncated"]) == (b"xxxx", ("stdout",))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (ExecSpec("sh"), "the command 'sh' is not allowed; allowed: "),
        (ExecSpec("true", ("a\0",)), "args[0] of true has to be text without NUL"),
        (ExecSpec("true", ("a", "\udc80")), "args[1] of true has to be text without NUL"),
        (ExecSpec("true", ("x" * 60_000,) * 2), "arguments and variables take 12"),
        (ExecSpec("true", env={"PATH": "."}), "the variable 'PATH' is not allowed; scripts may "),
        (ExecSpec("true", env={"MAY": "\0"}), "the variable MAY has to be text without NUL"),
        (ExecSpec("true", stdin="é" * 6), "stdin takes 12 bytes; 10 are allowed"),
        (ExecSpec("true", cwd="/"), "cwd '/' leaves the folder of the sandbox"),
        (ExecSpec("true", cwd="a/../.."), "cwd 'a/../..' leaves the folder of the sandbox"),
        (ExecSpec("true", cwd="out"), "cwd 'out' leaves the folder of the sandbox"),
        (ExecSpec("true", cwd="none"), "cwd: the sandbox has no folder 'none'"),
        (ExecSpec("true", cwd="a\0"), "cwd has to be text without NUL"),
    ],
)
async def test_what_the_host_does_not_allow_is_refused(
    tmp_path: Path, spec: ExecSpec, message: str
) -> None:
    (tmp_path / "out").symlink_to("/")
    sandbox = _python(tmp_path, script_env=["MAY"], stdin_bytes=10)
    with pytest.raises(ExecRefused) as raised:
        await sandbox(spec)
    assert str(raised.value).startswith(message)
    assert str(tmp_path) not in str(raised.value)


async def test_a_program_that_cannot_be_started_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/no/such/interpreter\n")
    program.chmod(0o755)
    sandbox = LocalSandbox(tmp_path, commands=[str(program)])
    with pytest.raises(ExecRefused, match="cannot be started: No such file"):
        await sandbox(ExecSpec(str(program)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"commands": ()}, "commands has to name at least one program"),
        ({"commands": "make"}, "commands takes a list of names; got 'make'"),
        ({"commands": ["no-such-program"]}, "commands: there is no program 'no-such-program'"),
        ({"commands": ["bin/tool"]}, "commands takes names of programs and absolute paths"),
        ({"env": {"A": 1}}, "env: A takes text without NUL"),
        ({"env": ["A=1"]}, "env takes names of variables; got 'A=1'"),
        ({"script_env": "HOME"}, "script_env takes a list of names; got 'HOME'"),
        ({"seconds": 0}, "seconds takes a number above 0; got 0"),
        ({"seconds": float("nan")}, "seconds takes a number above 0; got nan"),
        ({"output_bytes": 1.5}, "output_bytes takes a number above 0; got 1.5"),
        ({"cwd": "/no/such/folder"}, "there is no folder '/no/such/folder'"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        LocalSandbox(**{"cwd": tmp_path, "commands": ["true"], **options})
    assert f"LocalSandbox: {message}" in str(raised.value)
