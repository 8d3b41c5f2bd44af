"""`interpstack repl`, at a terminal and through a pipe."""

from __future__ import annotations

import pytest


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


@pytest.mark.parametrize("line", ["exit", "quit", "exit()", " quit() ; "])
def test_words_of_other_shells_leave(shell, line):
    assert shell.feed(line)
    assert shell.done


def test_help_answers_without_a_dot(shell, capsys):
    assert shell.feed("help")
    assert ".save" in capsys.readouterr().out


def test_a_variable_with_such_a_name_is_code(shell, capsys):
    shell.feed("var help = 5, exit = () => 6")
    assert shell.feed("help")
    assert shell.feed("exit()")
    assert capsys.readouterr().out.split()[-2:] == ["5", "6"]
    assert not shell.done


def test_reset_forgets_the_variables(shell, capsys):
    shell.feed("let gone = 1")
    assert shell.feed(".reset")
    assert not shell.feed("gone")
    assert "gone is not defined" in capsys.readouterr().err


def test_what_is_saved_can_be_loaded(shell, capsys, tmp_path):
    for code in ("let n = 1", "[n].map(x => x)", "throw n", "let n = 2 // again", "`${n}`"):
        shell.feed(code)
    assert shell.feed(".save kept.js")
    kept = "var n = 1\n;[n].map(x => x)\nvar n = 2 // again\n;`${n}`\n"
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
    ("line", "found"),
    [
        (".bogus", ".bogus is not a command; the commands are .help, .tools,"),
        (".help me", ".help takes nothing"),
        (".load", ".load takes a FILE"),
        (
            ".load nowhere.js",
            "File 'nowhere.js' not found. To run code, type it.",
        ),
        (".load a.js", "a.js is empty"),
        (".save", ".save takes a FILE"),
        (".save a.js", "a.js already exists"),
        (".save b.txt", "takes a name that ends in .js; got b.txt"),
        (".save no/such/folder.js", "no/such/folder.js cannot be written"),
        ("1;" * 2**20, "the code has"),
    ],
)
def test_wrong_commands_lose_nothing(shell, capsys, tmp_path, line, found):
    (tmp_path / "a.js").touch()
    shell.feed("let kept = 1")
    assert not shell.feed(line)
    assert found in capsys.readouterr().err
    assert shell.feed("kept")


def test_nothing_to_save(shell, capsys):
    assert not shell.feed(".save a.js")
    assert "no code has succeeded yet" in capsys.readouterr().err
