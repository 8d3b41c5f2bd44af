"""`interpstack plugins`."""

from __future__ import annotations

import json
from importlib.metadata import version

from interpstack_quickjs.engine import QuickJSEngine

BROKEN = """
[interpstack]
broken = broken_plugin
hookless = hookless_plugin
odd = odd_plugin
"""
MODULES = {
    "broken_plugin": "import no_such_package_of_anybody",
    "hookless_plugin": "",
    "odd_plugin": (
        "from interpstack import hookimpl\n"
        "@hookimpl\n"
        "def interpstack_register_engine():\n"
        "    raise OSError('no library')\n"
    ),
}


def test_plugins_as_json(run):
    result = run("plugins", "--json")
    listed = json.loads(result.stdout)
    assert result.exit_code == 0
    (quickjs,) = [engine for engine in listed["engines"] if engine["name"] == "quickjs"]
    assert quickjs == {
        "name": "quickjs",
        "plugin": "quickjs",
        "isolation": "wasm",
        "language": "javascript",
        "capabilities": sorted(capability.value for capability in QuickJSEngine.capabilities),
    }
    (plugin,) = [plugin for plugin in listed["plugins"] if plugin["name"] == "quickjs"]
    assert plugin == {
        "name": "quickjs",
        "version": version("interpstack"),
        "distribution": "interpstack",
        "hooks": ["interpstack_register_engine", "interpstack_register_language"],
    }


def test_plugins_as_tables(run):
    stdout = run("plugins").stdout
    for word in ("Engines", "quickjs", "wasm", "javascript", "cpu-limit", "console", "version"):
        assert word in stdout


def test_plugins_that_do_not_load_are_listed_with_the_reason(spawn, distribution):
    path = distribution("breaker", BROKEN, **MODULES)
    process = spawn("plugins", "--json", path=path)
    listed = json.loads(process.communicate()[0])
    assert process.returncode == 0
    reasons = {f["name"]: f["reason"] for f in listed["failed"] if f["distribution"] == "breaker"}
    assert list(reasons) == ["broken", "hookless", "odd"]
    assert "No module named 'no_such_package_of_anybody'" in reasons["broken"]
    assert "has no hooks" in reasons["hookless"]
    assert "no library" in reasons["odd"]
    assert "quickjs" in [plugin["name"] for plugin in listed["plugins"]]


def test_two_plugins_of_one_name_are_an_error(spawn, distribution):
    path = distribution("second", "[interpstack]\nquickjs = other_module\n")
    process = spawn("run", "-e", "1", path=path)
    _, stderr = process.communicate()
    assert process.returncode == 2
    assert "two distributions install a plugin named 'quickjs'" in stderr


def test_two_plugins_of_one_name_concern_nobody_else(spawn, distribution):
    path = distribution("second", "[interpstack]\nconsole = other_module\n")
    process = spawn("plugins", "--json", path=path)
    listed = json.loads(process.communicate()[0])
    (failed,) = (entry for entry in listed["failed"] if entry["name"] == "console")
    assert "two distributions install a plugin named 'console'" in failed["reason"]
    assert "quickjs" in [plugin["name"] for plugin in listed["plugins"]]
