"""Standard streams that are closed, or cannot be used."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")

CLOSED_OUT = "Error: standard output is closed; send it to a terminal, a pipe or a file\n"
CLOSED_IN = "Error: standard input is closed; give code through a pipe or a file\n"
FULL = "Error: standard output cannot be written: No space left on device\n"
LINES = "for (let i = 0; i < 1e5; i++) console.log(i)"
BAD = "Error: standard input cannot be read: Bad file descriptor\n"


def _shell(command: str, **env: str) -> tuple[str, str, int]:
    """Standard output, standard error and exit status of `interpstack` in a shell's command."""
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m interpstack {command}'],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
    )
    return done.stdout, done.stderr, done.returncode


@pytest.mark.parametrize(
    ("command", "stderr"),
    [
        ("run -e 1 >&-", CLOSED_OUT),
        ("run -e 1 --json >&-", CLOSED_OUT),
        ("run - <&-", CLOSED_IN),
        ("run - 0>written", BAD),
        ("repl <&-", CLOSED_IN),
        ("repl 0>written", BAD),
        ("plugins >&-", CLOSED_OUT),
        ("run -e 1 <&- >&- 2>&-", ""),
    ],
)
def test_one_line_says_what_is_wrong(command, stderr):
    assert _shell(command) == ("", stderr, 2)


def test_a_closed_output_ends_the_repl():
    assert _shell("repl >&- <<'END'\n1\n2\nEND") == ("", CLOSED_OUT, 2)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command", ["run -e 1", f"run -e '{LINES}'", "plugins", "demo", "--help", "--version"]
)
def test_a_full_disk_is_reported(command, unbuffered):
    assert _shell(f"{command} >/dev/full", PYTHONUNBUFFERED=unbuffered) == ("", FULL, 2)


def test_a_reader_may_leave_before_all_is_written():
    done = _shell(f"run -e '{LINES}' | head -1")
    assert (done[0], done[1]) == ("0\n", "")


@pytest.mark.parametrize(
    ("command", "stdout", "status"),
    [
        ("run -e 'throw 1' 2>&-", "", 1),
        ("run -e 2 2>&-", "2\n", 0),
        ("run -e 2 <&-", "2\n", 0),
        ("run -e 'let quiet = 1' >&-", "", 0),
        ("run nowhere.js 2>&-", "", 2),
    ],
)
def test_what_is_not_needed_may_be_closed(command, stdout, status):
    assert _shell(command) == (stdout, "", status)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_errors_that_cannot_be_reported_keep_the_status():
    assert _shell("run -e 'throw 1' 2>/dev/full") == ("", "", 1)
    assert _shell("run -e 2 2>/dev/full") == ("2\n", "", 0)


def test_who_has_read_enough_hears_nothing():
    code = "'x'.repeat(900000)"
    assert _shell(f'run -e "{code}" | head -c 1') == ("x", "", 0)
