"""`--plugin` of `run` and `repl`."""

from __future__ import annotations

import sys

import pytest

SHOUT = """
from interpstack import Bridge, hookimpl

async def _shout(value):
    return value.upper()

@hookimpl
def interpstack_register_bridges(register):
    register.bridge(Bridge(name="shout", handler=_shout, raw=True, owner="cli_shout"))

class Plugin:
    @hookimpl
    def interpstack_register_bridges(self, register):
        register.bridge(Bridge(name="loud.shout", handler=_shout, raw=True, owner="cli_shout"))

plugin = Plugin()
nothing = 1
"""


@pytest.fixture(autouse=True)
def _module(tmp_path, monkeypatch):
    (tmp_path / "cli_shout.py").write_text(SHOUT)
    yield
    monkeypatch.delitem(sys.modules, "cli_shout", raising=False)


@pytest.mark.parametrize(
    ("options", "code", "shown"),
    [
        (["--plugin", "cli_shout:plugin"], "await loud.shout('a')", "A\n"),
        (["--plugin", "cli_shout:"], "await shout('b')", "B\n"),
        (
            ["--plugin", "cli_shout:", "--plugin", "cli_shout:plugin"],
            "await shout('c') + await loud.shout('d')",
            "CD\n",
        ),
        (["--plugin", "console"], "console.log('once')", "once\n"),
        (["--plugin", "ptc", "--plugin", "ptc"], "typeof console", "object\n"),
    ],
)
def test_run_and_repl_take_plugins(run, options, code, shown):
    result = run("run", *options, "-e", code)
    assert (result.stdout, result.stderr, result.exit_code) == (shown, "", 0)
    result = run("repl", *options, stdin=code + "\n")
    assert (result.stdout, result.stderr, result.exit_code) == (shown, "", 0)


def test_an_installed_plugin_is_named_as_it_is_registered(spawn, distribution):
    folder = distribution("shouting", "[interpstack]\nshout = cli_shout2\n", cli_shout2=SHOUT)
    process = spawn("run", "--plugin", "shout", "-e", "await shout('e')", path=folder)
    assert process.communicate() == ("E\n", "")


@pytest.mark.parametrize(
    ("plugin", "found"),
    [
        ("konsole", "unknown plugin 'konsole'; known: accounts, console, "),
        ("nowhere:x", "--plugin nowhere:x: there is no module 'nowhere'"),
        ("cli_shout:gone", "--plugin cli_shout:gone: module 'cli_shout' has no 'gone'; it has: "),
        ("os:nothing", "has no 'nothing'; it has: "),
        ("cli_shout:nothing", "has no hooks"),
        ("cli_shout.py:plugin", "takes a module name, not a path"),
        ("a b:c", "--plugin 'a b:c': takes MODULE or MODULE:ATTR, as in --plugin mymodule:"),
    ],
)
@pytest.mark.parametrize("command", [["run", "-e", "1"], ["repl"]])
def test_a_wrong_plugin_is_one_line(run, command, plugin, found):
    result = run(*command, "--plugin", plugin, stdin="1\n")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert found in result.stderr
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 500


def test_a_plugin_that_needs_another_package_is_one_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "jsrun", None)
    for name in [name for name in sys.modules if name.startswith("interpstack_v8")]:
        monkeypatch.delitem(sys.modules, name)
    result = run("run", "--plugin", "v8", "-e", "1")
    assert (result.stdout, result.exit_code) == ("", 2)
    assert "plugin 'v8' is installed but cannot be loaded" in result.stderr
    assert "pip install 'interpstack[v8-engine]'" in result.stderr
    assert result.stderr.count("\n") == 1
