"""`interpstack repl`: cells typed at a terminal, and cells read from a pipe."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from interpstack_cli.repl.command import converse, read_pipe
from interpstack_cli.repl.editor import Editor
from interpstack_javascript import JAVASCRIPT

CTRL_C, CTRL_D, ALT_ENTER = "\x03", "\x04", "\x1b\r"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("1 + 1\r", "2\n"),
        ("let a = 40\ra + 2\r", "40\n42\n"),
        ("[1,\r2\r]\r", "[1, 2]\n"),
        ("`a\rb`\r", "a\nb\n"),
        ("1" + ALT_ENTER + "+ 2\r", "3\n"),
        ("lost" + CTRL_C + "7\r", "7\n"),
        ("console.log('hi'); 'x'.repeat(300)\r", "hi\n" + "x" * 300 + "\n"),
        ("'x'.repeat(8000)\r", "x" * 8000 + "\n"),
        ("await tools.readFile({path: 'abcdef'})\r", "abc\n"),
        ("\r \r1\r", "1\n"),
        (".5 + .5\r", "1\n"),
        ("1\r.exit\r2\r", "1\n"),
        ("6 * 7\r_ / 2\r", "42\n21\n"),
    ],
)
def test_typed_code_runs_once_it_is_whole(type_in, capsys, typed, shown):
    type_in(typed)
    assert capsys.readouterr() == (shown, "")


def test_an_error_is_shown_and_the_session_goes_on(type_in, capsys):
    type_in("let kept = 1\rnull.x\rkept\r")
    out, err = capsys.readouterr()
    assert out == "1\n1\n"
    assert err.startswith("TypeError: cannot read property 'x' of null\n    at ")


@pytest.mark.parametrize(
    ("stdin", "stdout", "stderr", "status"),
    [
        ("let a = 1\na + 1\n", "2\n", "", 0),
        ("[1,\n2]\n'last'", "[1, 2]\nlast\n", "", 0),
        ("function f() {\n\n  return 3\n}\nf()\n", "3\n", "", 0),
        ("console.log('é')\n\n\n", "é\n", "", 0),
        ("1\n.exit\n2\n", "1\n", "", 0),
        ("throw new Error('x')\n2\n", "2\n", "Error: x", 1),
        (".nope\n2\n", "2\n", "Error: .nope is not a command", 1),
        ("1\nf(\n", "1\n", "SyntaxError", 1),
        ("", "", "", 0),
        ("1\n'\udcff'\n2\n", "1\n", "Error: line 2 of standard input is not UTF-8 text", 2),
    ],
)
def test_reads_a_pipe(run, stdin, stdout, stderr, status):
    result = run("repl", stdin=stdin.encode("utf-8", "surrogateescape"))
    assert (result.stdout, result.exit_code) == (stdout, status)
    assert result.stderr.startswith(stderr)
    assert bool(result.stderr) == bool(stderr)


@pytest.mark.parametrize("option", [["--engine", "v9"], ["--tools", "nowhere:x"]])
def test_bad_options_exit_with_2(run, option):
    assert run("repl", *option, stdin="1").exit_code == 2


def test_typed_code_is_in_the_language_that_is_named(run):
    code = "enum Size { small }\nlet n: number = Size.small + 1\nn\n"
    assert run("repl", "--language", "ts", stdin=code).stdout.endswith("1\n")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("python", "typed code is python, but the engine 'quickjs' runs javascript and typescript"),
        ("", "takes the name of a language, such as python"),
    ],
)
def test_a_language_that_the_engine_does_not_run_is_refused(run, name, found):
    done = run("repl", "--language", name, stdin="1\n")
    assert done.exit_code == 2
    assert found in done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_ctrl_c_cancels_the_running_code_and_keeps_the_session():
    terminal, inside = os.openpty()
    take_terminal = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    process = subprocess.Popen(
        [sys.executable, "-c", take_terminal + "from interpstack_cli import main; main(['repl'])"],
        env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    try:
        _type(terminal, b"let kept = 20; console.log('se' + 't')\r")
        _wait_for(terminal, b"set\r\n")
        _type(terminal, b"for (;;) {}\r")
        _wait_for_mode(terminal, raw=False)
        os.write(terminal, CTRL_C.encode())
        _wait_for(terminal, b"Cancelled; the session continues.")
        _type(terminal, b"kept * 5\r")
        _wait_for(terminal, b"100")
        _type(terminal, CTRL_D.encode())
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def test_ctrl_c_just_after_enter_is_not_lost(shell, capsys):
    """The terminal makes a signal of it as soon as the editor has left; no cell runs yet."""

    @contextmanager
    def raw_mode():
        yield
        if not interrupted:
            interrupted.append(True)
            signal.raise_signal(signal.SIGINT)

    interrupted = []
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.raw_mode = raw_mode
        keys.send_text("for (;;) {}\r6 * 7\r" + CTRL_D)
        converse(shell, Editor(JAVASCRIPT))
    assert capsys.readouterr() == ("42\n", "Cancelled; the session continues.\n")


def _type(terminal: int, keys: bytes) -> None:
    """Type at the editor's next prompt."""
    _wait_for_mode(terminal, raw=True)
    os.write(terminal, keys)


def _wait_for_mode(terminal: int, *, raw: bool) -> None:
    """Wait until Ctrl-C is a key for the editor (`raw`), or a signal for the running code."""
    import termios

    deadline = time.monotonic() + 60
    while bool(termios.tcgetattr(terminal)[3] & termios.ISIG) == raw:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _wait_for(terminal: int, text: bytes) -> None:
    seen = b""
    while text not in seen:
        assert select.select([terminal], [], [], 60)[0], seen
        try:
            seen += os.read(terminal, 65536)
        except OSError:  # the command has ended
            pytest.fail(f"{text!r} did not come: {seen!r}")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_tab_asks_the_guest_at_a_real_terminal():
    terminal, inside = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "interpstack", "repl"],
        env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "NO_COLOR": "1"},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    try:
        _type(terminal, b"var held = {onlyMember: 8 * 5}\r")
        _wait_for(terminal, b"{onlyMember: 40}\r\n")
        _type(terminal, b"held.onl\t")
        _wait_for(terminal, b"Member")
        os.write(terminal, b" + 2\r")
        _wait_for(terminal, b"42\r\n")
        _type(terminal, CTRL_D.encode())
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def test_a_pipe_is_read_line_by_line_and_no_further_than_exit(shell, capsys):
    seen = []

    def lines():
        for line in ("(1 +\n", "1)\n", "null.x\n", ".exit\n", "never\n"):
            seen.append(capsys.readouterr().out)
            yield line

    assert read_pipe(shell, lines()) is False
    assert "".join(seen) == "2\n"
    assert shell.done


def test_a_folder_to_save_in_is_checked_before_anything_runs(run, tmp_path):
    (tmp_path / "taken").write_text("in the way")
    result = run("repl", "--save", str(tmp_path / "taken"), stdin="console.log('ran')")
    assert (result.exit_code, result.stdout) == (2, "")
