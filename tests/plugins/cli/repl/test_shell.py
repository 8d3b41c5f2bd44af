"""`interpstack repl`, at a terminal and through a pipe."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from interpstack import GuestLanguage, HostOffer, HostTool, InterpreterStack, bridge
from interpstack_cli.repl.command import converse
from interpstack_cli.repl.editor import Dropped, Editor, history_file, open_history
from interpstack_cli.repl.shell import Shell
from interpstack_javascript import JAVASCRIPT
from interpstack_python import PYTHON

CTRL_C, CTRL_D, ALT_ENTER = "\x03", "\x04", "\x1b\r"


@bridge("tools.readFile")
def read_file(path: str, size: int = 3) -> str:
    """Read a file.

    More of it.
    """
    return path[:size]


async def _nothing(given, context):
    return None


@pytest.fixture
def shell():
    schema = {"properties": {"text": {}, "limit": {}}, "required": ["text"]}
    tool = HostTool(name="web_search", call=_nothing, description="Search.", input_schema=schema)
    stack = InterpreterStack(plugins=["console", "ptc"], bridges=[read_file])
    with stack, asyncio.Runner() as runner, stack.session() as session:
        session.bind(HostOffer(tools=[tool]))
        made = Shell(stack, session, runner)
        made.plain = False
        yield made


@pytest.fixture
def type_in(shell):
    """Type text at the prompt, then Ctrl-D."""

    def type_in(text: str) -> None:
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            keys.send_text(text + CTRL_D)
            converse(shell, Editor(JAVASCRIPT))

    return type_in


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("1 + 1\r", "2\n"),
        ("let a = 40\ra + 2\r", "undefined\n42\n"),
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
    assert out == "undefined\n1\n"
    assert err.startswith("TypeError: cannot read property 'x' of null\n    at ")


def test_history_comes_back_in_the_next_run(type_in, capsys):
    type_in("'first'\r")
    type_in("\x1b[A\r")  # arrow up
    assert capsys.readouterr().out == "first\nfirst\n"
    mode = stat.S_IMODE(history_file().stat().st_mode)
    if sys.platform != "win32":
        assert (mode, stat.S_IMODE(history_file().parent.stat().st_mode)) == (0o600, 0o700)


def test_a_history_that_others_could_read_becomes_private(tmp_path):
    history_file().parent.mkdir(parents=True)
    history_file().touch(0o644)
    history, note = open_history()
    assert isinstance(history, FileHistory)
    assert note is None
    if sys.platform != "win32":
        assert stat.S_IMODE(history_file().stat().st_mode) == 0o600


def test_without_a_place_for_it_history_stays_in_memory(tmp_path, type_in, capsys):
    (tmp_path / "state").write_text("in the way")
    assert isinstance(open_history()[0], InMemoryHistory)
    type_in("1\r")
    out, err = capsys.readouterr()
    assert out == "1\n"
    assert err.startswith("Note: this session's history is not kept: ")


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("myV", ["myValue"]),
        ("1 + myV", ["myValue"]),
        ("too", ["tools"]),
        ("await tools.", ["tools.$describe", "tools.$search", "tools.readFile", "tools.webSearch"]),
        ("tools.re", ["tools.readFile"]),
        ("tools.readFile", []),
        ("unde", ["undefined"]),
        (".", [".exit", ".help", ".load", ".reset", ".save", ".tools"]),
        (".re", [".reset"]),
        ("nothingLikeIt", []),
        ("", []),
    ],
)
def test_completes_globals_tools_and_commands(shell, before, offered):
    shell.feed("let myValue = 1")
    editor = Editor(JAVASCRIPT)
    editor.offer(shell.names(), shell.commands())
    found = editor.completer.get_completions(Document(before), CompleteEvent())
    assert [completion.text for completion in found] == offered


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("point.mo", ["point.move"]),
        ("f(point.", ["point.constructor", "point.far", "point.hasOwnProperty"]),
        ("point.inner.de", ["point.inner.deep"]),
        ("point.far.", []),
        ("'text'.tri", []),
        ("console.lo", ["console.log"]),
        ("evil.", ["evil.fine"]),
        ("hangs.", []),
        ("lost.lost.lost.", []),
    ],
)
def test_completes_members_by_asking_the_guest(shell, before, offered):
    shell.feed(
        "class Point { move() {} get far() { throw 1 } }; var point = new Point(); "
        "point.inner = {deep: 1}; var hangs = new Proxy({}, {ownKeys() { for (;;) {} }}); "
        "var evil = {__proto__: null, '\\x1b[2J': 1, 'a b': 1, '\\u202e': 1, fine: 1}"
    )
    editor = Editor(JAVASCRIPT)
    editor.offer(shell.names(), shell.commands(), shell.members)
    found = list(editor.completer.get_completions(Document(before), CompleteEvent()))
    texts = [completion.text for completion in found]
    assert texts[: len(offered)] == offered
    assert bool(texts) is bool(offered)
    assert all(completion.display_text.isprintable() for completion in found)
    assert shell.feed("point.inner.deep")  # the session goes on


def _edited(keys: str, language: GuestLanguage = JAVASCRIPT) -> str:
    """What is in the editor after some keys, all of them before the code is whole."""
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text(keys + CTRL_D)
        editor = Editor(language)
        seen: list[str] = []
        buffer = editor._prompt.default_buffer
        buffer.on_text_changed += lambda changed: seen.append(changed.text)
        typed.send_text(CTRL_C)
        with pytest.raises((Dropped, EOFError)):
            editor.read()
    return [text for text in seen if text][-1]


@pytest.mark.parametrize(
    ("keys", "language", "text"),
    [
        ("f(() => {\ra", JAVASCRIPT, "f(() => {\n  a"),
        ("f({\ra: [\r1\r]", JAVASCRIPT, "f({\n  a: [\n    1\n  ]"),
        ("f([\r1,\r2\r]", JAVASCRIPT, "f([\n  1,\n  2\n]"),
        ("f({\r\x7f\x7fx", JAVASCRIPT, "f({x"),
        ("f({\ra\x7f\x7fb", JAVASCRIPT, "f({\nb"),
        ("def f():\rx", PYTHON, "def f():\n    x"),
        (
            "def f():\rif x:\rreturn 1\relse",
            PYTHON,
            "def f():\n    if x:\n        return 1\n    else",
        ),
        ("for x in y:\rpass\rz", PYTHON, "for x in y:\n    pass\nz"),
        ("x = [\r1,\r2", PYTHON, "x = [\n    1,\n    2"),
    ],
)
def test_lines_are_indented(keys, language, text):
    assert _edited(keys, language) == text


def test_large_values_are_wrapped(shell, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    shell.feed("({list: [...Array(20).keys()], name: 'x'.repeat(20)})")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "{"
    assert lines[-1] == "}"
    assert max(map(len, lines)) <= 40
    assert '  name: "xxxxxxxxxxxxxxxxxxxx"' in lines
    shell.plain = True
    shell.feed("[...Array(40).keys()]")
    assert capsys.readouterr().out.count("\n") == 1  # a program that reads it wants one line


def test_help_and_tools_say_what_there_is(shell, capsys):
    assert shell.feed(".help")
    out = capsys.readouterr().out
    assert [name for name in shell.commands() if name not in out] == []
    assert shell.feed(".tools")
    out = capsys.readouterr().out
    assert "tools.readFile({path, size?})  Read a file.\n" in out
    assert "tools.webSearch({text, limit?})  Search.\n" in out
    assert "More of it" not in out


def test_reset_forgets_the_variables(shell, capsys):
    shell.feed("let gone = 1")
    assert shell.feed(".reset")
    assert not shell.feed("gone")
    assert "gone is not defined" in capsys.readouterr().err


def test_what_is_saved_can_be_loaded(shell, capsys, tmp_path):
    for code in ("let n = 1", "[n].map(x => x)", "throw n", "let n = 2 // again", "`${n}`"):
        shell.feed(code)
    assert shell.feed(".save kept.js")
    kept = "let n = 1\n;[n].map(x => x)\nlet n = 2 // again\n;`${n}`\n"
    assert (tmp_path / "kept.js").read_text(encoding="utf-8") == kept
    shell.feed(".reset")
    capsys.readouterr()
    assert shell.feed(".load kept.js")
    assert capsys.readouterr().out == "2\n"


def test_loaded_typescript_is_saved_as_typescript(shell, capsys, tmp_path):
    (tmp_path / "a.ts").write_text("const typed: number = 5; typed")
    assert shell.feed(".load a.ts")
    assert not shell.feed(".save b.js")
    assert "takes a name that ends in .ts" in capsys.readouterr().err
    assert shell.feed(".save b.ts")
    assert ": number" in (tmp_path / "b.ts").read_text()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (".bogus", ".bogus is not a command; the commands are .help, .tools,"),
        (".help me", ".help takes nothing"),
        (".load", ".load takes a FILE"),
        (".load nowhere.js", "there is no file nowhere.js; code itself needs no .load"),
        (".load a.js", "a.js is empty"),
        (".save", ".save takes a FILE"),
        (".save a.js", "a.js already exists"),
        (".save b.txt", "takes a name that ends in .js; got b.txt"),
        (".save no/such/folder.js", "no/such/folder.js cannot be written"),
        ("1;" * 2**20, "the code has"),
    ],
)
def test_wrong_commands_lose_nothing(shell, capsys, tmp_path, line, told):
    (tmp_path / "a.js").touch()
    shell.feed("let kept = 1")
    assert not shell.feed(line)
    assert told in capsys.readouterr().err
    assert shell.feed("kept")


def test_nothing_to_save(shell, capsys):
    assert not shell.feed(".save a.js")
    assert "no code has succeeded yet" in capsys.readouterr().err


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
        assert process.wait(timeout=60) == 0
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
        _type(terminal, b"var held = {onlyMember: 40}\r")
        _wait_for(terminal, b"undefined\r\n")
        _type(terminal, b"held.onl\t")
        _wait_for(terminal, b"Member")
        os.write(terminal, b" + 2\r")
        _wait_for(terminal, b"42\r\n")
        _type(terminal, CTRL_D.encode())
        assert process.wait(timeout=60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
