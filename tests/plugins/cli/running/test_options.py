"""The options that `run` and `repl` share, and the stack they make."""

from __future__ import annotations

import os
import sys

import pytest

from interpstack import Cell, ConfigurationError, InterpreterStack, Limits
from interpstack.plugins import PluginManager
from interpstack_cli.running.options import StackOptions, check_language, stoppable
from interpstack_testing import FakeEngine


def test_refuses_a_language_that_the_engine_does_not_run(run, monkeypatch):
    from interpstack_quickjs.engine import QuickJSEngine

    monkeypatch.setattr(QuickJSEngine, "dialects", ())
    result = run("run", "-e", "1", "--language", "typescript")
    assert result.exit_code == 2
    assert "cell is typescript, but the engine 'quickjs' runs javascript" in result.stderr


@pytest.mark.parametrize("language", ["python", "nonsense"])
def test_a_plugin_without_its_packages_hides_no_advice(run, distribution, monkeypatch, language):
    path = distribution(
        "stub",
        "[interpstack]\nabsent = stub_absent\n",
        "absent",
        requires=["no-such-package; extra == 'absent'"],
        stub_absent="import no_such_package",
    )
    monkeypatch.syspath_prepend(str(path))
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    for name in [name for name in sys.modules if name.startswith("interpstack_monty.")]:
        monkeypatch.delitem(sys.modules, name)
    result = run("run", "-e", "1", "--language", language)
    assert (result.stdout, result.exit_code) == ("", 2)
    assert f"cell is {language}, but the engine 'quickjs' runs javascript" in result.stderr
    assert "absent" not in result.stderr


def test_a_named_session_goes_on(run, tmp_path, monkeypatch):
    monkeypatch.setattr("interpstack_sessions.plugin.plugin._store", None)
    monkeypatch.setenv("INTERPSTACK_SESSIONS", f"sqlite:{tmp_path}/sessions.db")
    named = "--plugin", "sessions", "--session", "talk"
    assert run("run", *named, "-e", "let n = 1; n").stdout == "1\n"
    assert run("repl", *named, stdin="++n").stdout == "2\n"
    assert '"text": "3"' in run("run", *named, "--json", "-e", "++n").stdout
    other = run("run", *named[:3], "other", "-e", "typeof n")
    assert (other.stdout, other.exit_code) == ("undefined\n", 0)


@pytest.mark.parametrize("command", [("run", "-e", "1"), ("repl",)])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plugin", "sessions"], "needs the name of a session; pass --session NAME"),
        (
            ["--session", "a"],
            "--session needs a plugin that stores sessions, such as --plugin sess",
        ),
        (["--plugin", "sessions", "--session", ""], "a session key is a non-empty string"),
        (["--plugin", "sessions", "--session", "a"], "set INTERPSTACK_SESSIONS to its URL"),
    ],
)
def test_what_a_named_session_lacks_is_reported(run, monkeypatch, command, options, message):
    monkeypatch.setattr("interpstack_sessions.plugin.plugin._store", None)
    monkeypatch.delenv("INTERPSTACK_SESSIONS", raising=False)
    result = run(*command, *options, stdin="1")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert message in result.stderr


@pytest.mark.skipif(os.name != "posix", reason="worker processes need POSIX")
@pytest.mark.parametrize(
    ("asked", "used"),
    [
        ("quickjs", "quickjs"),
        ("v8", "process:v8"),
        ("process:v8", "process:v8"),
        ("monty", "monty"),
    ],
)
def test_engines_that_nothing_stops_run_in_workers(asked, used):
    if asked.endswith("v8"):
        pytest.importorskip("jsrun")
    if asked == "monty":
        pytest.importorskip("pydantic_monty")
    assert stoppable(asked, PluginManager()) == used


def _plugins(stack):
    return {plugin.name for plugin in stack.describe()}


def test_without_options_code_has_no_budget_of_calls():
    stack, offer = StackOptions().open()
    with stack:
        limits = stack.limits
        assert (limits.requests, limits.cpu_seconds) == (None, Limits().cpu_seconds)
        assert limits.result_chars == limits.console_chars == 1_000_000
        assert {"console", "display"} <= _plugins(stack)
        assert not {"ptc", "skills"} & _plugins(stack)
    assert [*offer.tools, *offer.parts] == []


def test_options_become_limits_plugins_and_parts(tmp_path):
    stack, offer = StackOptions(skills=tmp_path, timeout=2.5, memory=16, plugins=("ptc",)).open()
    with stack:
        limits = stack.limits
        assert (limits.cpu_seconds, limits.wall_seconds) == (2.5, 2.5)
        assert limits.memory_bytes == 16 * 2**20
        assert {"ptc", "skills"} <= _plugins(stack)
    assert [type(part).__name__ for part in offer.parts] == ["Skills"]


def test_options_of_an_engine_reach_it():
    stack, _ = StackOptions(engine="process:quickjs", engine_options=("workers=1",)).open()
    with stack:
        assert stack.engine.pool._size == 1


@pytest.mark.parametrize(
    ("language", "found"),
    [
        ("python", ""),
        (None, ""),
        ("typescript", "choose --engine "),
        ("cobol", "no installed engine runs cobol ('interpstack plugins' lists them)"),
    ],
)
def test_a_cell_in_a_foreign_language_is_refused_with_advice(language, found):
    stack = InterpreterStack(FakeEngine())
    cell = Cell(source="1", language=language)
    if not found:
        check_language(stack, cell)
        return
    with pytest.raises(ConfigurationError) as refused:
        check_language(stack, cell)
    message = f"cell is {language}, but the engine 'fake' runs python; {found}"
    assert str(refused.value).startswith(message)


def test_a_missing_configuration_of_servers_is_answered_with_what_the_option_takes(run):
    result = run("run", "--mcp", "gone.json", "-e", "1")
    assert (result.stdout, result.exit_code) == ("", 2)
    message = "File 'gone.json' not found. --mcp takes a JSON file with an mcpServers object."
    assert message in result.stderr


def test_a_wrong_configuration_of_servers_is_refused(run, tmp_path):
    pytest.importorskip("mcp")
    path = tmp_path / "servers.json"
    path.write_text('{"mcpServers": {"a": {"comand": "b"}}}')
    result = run("run", "--mcp", str(path), "-e", "1")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert "server 'a' takes either a 'command' to start or a 'url' to reach" in result.stderr
