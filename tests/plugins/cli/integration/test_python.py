"""`interpstack run` and `repl` with engines that run Python."""

from __future__ import annotations

import asyncio
import sys

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from interpstack_cli.installed.survey import FailedPlugin, Survey
from interpstack_cli.repl.command import converse
from interpstack_cli.repl.editor import Editor
from interpstack_cli.repl.shell import Shell
from interpstack_cli.running import options
from interpstack_cli.running.options import StackOptions

pytest.importorskip("pydantic_monty")

#: Ctrl-U takes away the margin, which a new line copies from the one above.
CTRL_D, CTRL_U = "\x04", "\x15"
ENGINES = ["monty", "process:monty"]
SHOP = """
from interpstack import HostTool

def read_price(item: str, size: int = 1) -> float:
    '''Tell a price.'''
    return {"tea": 3.5}[item] * size

async def _search(given, context):
    return [given["text"].upper()]

search = HostTool(name="web-search", call=_search, description="Search.", input_schema={
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})
"""


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    (tmp_path / "cli_shop.py").write_text(SHOP)
    (tmp_path / "a.py").write_text("def f():\n    return 6\n\nprint('hi')\nf() * 7\n")
    (tmp_path / "a.js").write_text("1")
    (tmp_path / "a.ts").write_text("1")
    yield
    monkeypatch.delitem(sys.modules, "cli_shop", raising=False)


@pytest.fixture
def shell():
    stack, offer = StackOptions(engine="monty", tools=("cli_shop",)).open()
    with stack, asyncio.Runner() as runner, stack.session() as session:
        session.bind(offer)
        made = Shell(stack, session, runner)
        made.plain = False
        yield made


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["a.py"], "hi\n42\n"),
        (["-e", "1 + 1"], "2\n"),
        (["-e", "1 + 1", "--language", "python"], "2\n"),
        (["-e", "1 + 1", "--language", "py"], "2\n"),
        (["a.js", "--language", "python"], "1\n"),
        (["--tools", "cli_shop", "-e", "await tools.read_price(item='tea', size=2)"], "7.0\n"),
        (["--tools", "cli_shop", "-e", "await tools.web_search(text='a')"], "['A']\n"),
    ],
)
def test_runs_python(run, engine, args, shown):
    result = run("run", "--engine", engine, *args)
    assert (result.stdout, result.stderr, result.exit_code) == (shown, "", 0)


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["a.py"], "a.py is python, but the engine 'quickjs' runs javascript and typescript; "),
        (["a.py"], "; choose --engine monty\n"),
        (["-e", "1", "--language", "python"], "; choose --engine monty\n"),
        (["a.js", "--engine", "monty"], "a.js is javascript, but the engine 'monty' runs python; "),
        (["a.js", "--engine", "monty"], " --engine quickjs"),
        (["a.ts", "--engine", "process:monty"], "the engine 'process:monty' runs python; choose "),
        (["-e", "1", "--language", "typescript", "--engine", "monty"], " --engine quickjs"),
    ],
)
def test_the_wrong_engine_is_reported_with_the_right_one(run, args, found):
    result = run("run", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert found in result.stderr


def test_without_an_engine_for_it_the_extra_is_reported(run, monkeypatch):
    failed = FailedPlugin("monty", "interpstack", "No module named 'pydantic_monty'", "monty")
    monkeypatch.setattr(options, "survey", lambda: Survey((), (), (failed,)))
    result = run("run", "a.py")
    assert result.exit_code == 2
    assert "; install an engine for it: pip install 'interpstack[monty]'\n" in result.stderr


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("stdin", "stdout", "stderr", "status"),
    [
        ("for i in range(2):\n    print(i)\n7\n", "0\n1\n7\n", "", 0),
        ("def f():\n    return 3\n\nf()\n", "3\n", "", 0),
        ("if 0: 1\nelse:\n    print('no')", "no\n", "", 0),
        ("'''a\n\nb'''\n", "a\n\nb\n", "", 0),
        ("x = [1,\n2]\nlen(x)\n", "2\n", "", 0),
        ("async def f():\n    return 4\nawait f()\n", "4\n", "", 0),
        ("1\n.exit\n2\n", "1\n", "", 0),
        ("if 1:\nprint(1)\n2\n", "2\n", "SyntaxError: Expected an indented block", 1),
    ],
)
def test_reads_a_pipe(run, engine, stdin, stdout, stderr, status):
    result = run("repl", "--engine", engine, stdin=stdin)
    assert (result.stdout, result.exit_code) == (stdout, status)
    assert result.stderr.startswith(stderr)
    assert bool(result.stderr) == bool(stderr)


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("a = 40\ra + 2\r", "42\n"),
        ("for i in range(2):\r    print(i)\r\r", "0\n1\n"),
        ("if 0: 1\relse:\r  print('no')\r\r", "no\n"),
        ("if 0:\r  1\r" + CTRL_U + "else:\r  print('no')\r\r", "no\n"),
        ("def f():\r    return 3\r\rf()\r", "3\n"),
        ("'''a\r\rb'''\r", "a\n\nb\n"),
        ("[1,\r2\r]\r", "[1, 2]\n"),
        ("await tools.read_price(item='tea')\r", "3.5\n"),
    ],
)
def test_typed_code_runs_once_it_is_whole(shell, capsys, typed, shown):
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        keys.send_text(typed + CTRL_D)
        converse(shell, Editor(shell.language))
    assert capsys.readouterr() == (shown, "")


def test_what_is_saved_can_be_loaded(shell, capsys, tmp_path):
    for code in ("n = 1", "[n]", "for i in range(2):\n    n += i\n", "(n)"):
        assert shell.feed(code)
    assert not shell.feed(".save kept.js")
    assert "takes a name that ends in .py; got kept.js" in capsys.readouterr().err
    assert shell.feed(".save kept.py")
    kept = "n = 1\n[n]\nfor i in range(2):\n    n += i\n(n)\n"
    assert (tmp_path / "kept.py").read_text(encoding="utf-8") == kept
    shell.feed(".reset")
    capsys.readouterr()
    assert shell.feed(".load kept.py")
    assert capsys.readouterr().out == "2\n"


def test_loading_another_language_tells_the_engine(shell, capsys):
    assert not shell.feed(".load a.js")
    found = capsys.readouterr().err
    assert "a.js is javascript, but the engine 'monty' runs python; choose --engine " in found
    assert " --engine quickjs" in found


def test_help_and_completion_speak_python(shell, capsys):
    shell.feed(".tools")
    out = capsys.readouterr().out
    assert "tools.read_price(*, item, size=…)  Tell a price.\n" in out
    assert "tools.web_search(*, text)  Search.\n" in out
    shell.feed(".help")
    assert "a block after an empty line" in capsys.readouterr().out
    assert not shell.feed(".save")
    assert "as in .save session.py" in capsys.readouterr().err
    editor = Editor(shell.language)
    editor.offer(shell.names(), shell.commands())
    assert {"lambda", "tools.read_price"} <= set(editor.completer.names)
    assert "function" not in editor.completer.names
