"""Processes of commands, with all that they start."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from workflow_runs import until

from interpstack_commands import ProcessOutput, run_process

#: Starts a child that holds the streams, and writes both numbers to a file.
_PARENT = """
import os, pathlib, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path("pids.new").write_text(f"{os.getpid()} {child.pid}")
os.rename("pids.new", "pids")
time.sleep(float(sys.argv[1]))
"""


async def _run(folder: Path, code: str, *args: str, **options: object) -> ProcessOutput:
    command = [sys.executable, "-c", code, *args]
    given = {"seconds": 60.0, "output_bytes": 1000, "env": {}, **options}
    return await run_process(command, cwd=folder, **given)  # type: ignore[arg-type]


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def _pids(folder: Path) -> list[int]:
    return [int(word) for word in (folder / "pids").read_text().split()]


def _commands() -> list[bytes]:
    """The command lines of this process's children."""
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children]


async def test_a_process_has_its_folder_its_input_and_its_environment(tmp_path: Path) -> None:
    code = (
        "import os, sys; print(os.getcwd(), sys.stdin.read(), os.environ['A'], len(sys.argv));"
        "print(sorted(os.environ.keys() - {'LC_CTYPE'}), file=sys.stderr); sys.exit(3)"
    )
    done = await _run(tmp_path, code, "$HOME; ls", stdin=b"given", env={"A": "1"})
    assert done.stdout.decode() == f"{tmp_path} given 1 2\n"
    assert (done.code, done.stderr, done.truncated) == (3, b"['A']\n", ())


async def test_output_is_bounded_while_it_is_read(tmp_path: Path) -> None:
    code = "import sys; sys.stdout.write('x' * 5_000_000); sys.stderr.write('y' * 1000)"
    done = await _run(tmp_path, code)
    assert (done.stdout, done.stderr) == (b"x" * 1000, b"y" * 1000)
    assert done.truncated == ("stdout",)


async def test_input_that_nobody_reads_is_no_error(tmp_path: Path) -> None:
    done = await _run(tmp_path, "print(1)", stdin=b"x" * 1_000_000)
    assert (done.code, done.stdout) == (0, b"1\n")


async def test_what_a_program_leaves_behind_is_killed(tmp_path: Path) -> None:
    done = await _run(tmp_path, _PARENT, "0")
    assert done.code == 0
    await until(lambda: not any(map(_lives, _pids(tmp_path))))


async def test_the_whole_group_is_killed_after_its_time(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        await _run(tmp_path, _PARENT, "600", seconds=3.0)
    await until(lambda: not any(map(_lives, _pids(tmp_path))))


async def test_the_whole_group_is_killed_at_a_cancellation(tmp_path: Path) -> None:
    task = asyncio.create_task(_run(tmp_path, _PARENT, "600"))
    await until((tmp_path / "pids").exists)
    assert all(map(_lives, _pids(tmp_path)))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not any(map(_lives, _pids(tmp_path))))


async def test_a_cancellation_before_the_start_leaves_nothing(tmp_path: Path) -> None:
    for _ in range(5):
        task = asyncio.create_task(_run(tmp_path, _PARENT, "600"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    if (tmp_path / "pids").exists():
        await until(lambda: not any(map(_lives, _pids(tmp_path))))
    assert not any(b"pids.new" in command for command in _commands())


async def test_a_killed_process_says_by_what(tmp_path: Path) -> None:
    done = await _run(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert done.code == -9


async def test_a_program_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        await run_process(["/no/such"], cwd=tmp_path, env={}, seconds=1.0, output_bytes=1)
