"""Console output reaches the terminal while the cell runs."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

WAITS = "console.log('on'+'e'); await new Promise(r => setTimeout(r, 600000)); console.log('two')"
COMPUTES = "console.log('on'+'e'); for (;;) {}"
PYTHON = "print('on'+'e')\nwhile True: pass"


def _seen(stream, text: str) -> str:
    """What comes until a text has come."""
    data, until = "", time.monotonic() + 60
    while text not in data:
        assert time.monotonic() < until, data
        if select.select([stream], [], [], 1)[0]:
            part = os.read(stream.fileno(), 65536).decode()
            assert part, data
            data += part
    return data


@pytest.mark.parametrize(
    ("engine", "code"),
    [
        ("quickjs", WAITS),
        ("quickjs", COMPUTES),
        ("v8", WAITS),
        ("monty", PYTHON),
        ("process:quickjs", COMPUTES),
    ],
)
def test_lines_come_at_once_and_stay_after_ctrl_c(spawn, engine, code):
    process = spawn("run", "--engine", engine, "--timeout", "300", "-e", code)
    shown = _seen(process.stdout, "one")
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (shown + out, err, process.returncode) == ("one\n", "Interrupted.\n", 130)


def test_what_was_printed_before_ctrl_c_is_whole(spawn):
    """More than the engine shows while it computes."""
    code = "for (let i = 0; i < 9000; i++) console.log('line', i); await new Promise(r => 0)"
    code = code.replace("r => 0", "r => setTimeout(r, 600000)")
    process = spawn("run", "-e", code)
    out = _seen(process.stdout, "line 8999")
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate()
    assert out + rest == "".join(f"line {i}\n" for i in range(9000))


def test_a_pipe_gets_each_line_at_once(spawn):
    process = spawn("repl")
    process.stdin.write("console.log('on'+'e'); await new Promise(r => setTimeout(r, 600000))\n")
    process.stdin.flush()
    assert _seen(process.stdout, "one") == "one"
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130


def test_a_reader_that_has_enough_ends_the_code(spawn):
    code = "for (;;) { console.log('line'); await new Promise(r => setTimeout(r, 50)) }"
    process = spawn("run", "-e", code)
    assert _seen(process.stdout, "line").startswith("line")
    process.stdout.close()
    assert process.wait() == 1
    assert process.stderr.read() == ""


def test_a_reader_that_is_slow_holds_up_only_the_end(spawn):
    """The code itself goes on: it tells so in a file, through a tool."""
    process = subprocess.Popen(
        [sys.executable, "-m", "interpstack", "run", "-e", "console.log('x'.repeat(900000)); 7"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        time.sleep(0.5)  # the pipe is full by then; nothing depends on it
        out = process.stdout.read()
    assert out == "x" * 900000 + "\n7\n"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("console.log('a\\n'); 1", "a\n\n1\n"),
        ("console.log(''); console.log(''); 1", "\n\n1\n"),
        ("console.log('a'); await 0; console.log(''); await 0; console.log('b')", "a\n\nb\n"),
        ("console.log('a'); throw 1", "a\n"),
    ],
)
def test_lines_are_as_they_were_printed(run, code, shown):
    assert run("run", "-e", code).stdout == shown
    assert run("repl", stdin=code + "\n").stdout == shown


def test_json_has_the_output_in_the_outcome_alone(run):
    result = run("run", "--json", "-e", "console.log('a'); await 0; console.log('b')")
    assert '"console": "a\\nb"' in result.stdout
    assert result.stdout.startswith("{")
