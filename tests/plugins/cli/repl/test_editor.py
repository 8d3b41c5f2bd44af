"""The line editor of the REPL: history, completion, indentation."""

from __future__ import annotations

import stat
import sys

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from interpstack import GuestLanguage
from interpstack_cli.repl import editor
from interpstack_cli.repl.editor import Dropped, Editor, history_file, open_history
from interpstack_javascript import JAVASCRIPT
from interpstack_python import PYTHON

CTRL_C, CTRL_D, ALT_ENTER = "\x03", "\x04", "\x1b\r"


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


@pytest.mark.skipif(sys.platform == "win32", reason="the variable of POSIX systems")
def test_where_history_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    assert history_file() == tmp_path / "elsewhere" / "interpstack" / "history"
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert history_file() == tmp_path / "home/.local/state/interpstack/history"


def test_without_a_home_history_stays_in_memory(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(editor, "history_file", homeless)
    history, note = open_history()
    assert isinstance(history, InMemoryHistory)
    assert note == "this session's history is not kept: Could not determine home directory."


def test_members_are_asked_for_only_where_no_name_matches():
    asked = []

    def members(path):
        asked.append(list(path))
        return ["move", "_inner", "far"]

    made = Editor(JAVASCRIPT)
    made.offer(["point", "tools.read"], [".exit"], members)

    def offered(before):
        found = made.completer.get_completions(Document(before), CompleteEvent())
        return [(each.text, each.start_position, each.display_text) for each in found]

    assert offered("tools.r") == [("tools.read", -7, "read")]
    assert offered(".ex") == [(".exit", -3, "exit")]
    assert asked == []
    assert [text for text, _, _ in offered("f(point.in.")] == ["point.in.far", "point.in.move"]
    assert offered("point._") == [("point._inner", -7, "_inner")]
    assert asked == [["point", "in"], ["point"]]
