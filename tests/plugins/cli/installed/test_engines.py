"""`interpstack engines report`."""

from __future__ import annotations

import json

import attrs
import pytest

from interpstack_cli.installed import conformance, engines
from interpstack_cli.installed.survey import FailedPlugin
from interpstack_testing import Area

ENTRY_POINTS = """
[interpstack]
faulty = faulty_plugin
sound = sound_plugin
klingon = klingon_plugin

[interpstack.conformance]
faulty = faulty_tests:Faulty
sound = faulty_tests:Sound
dying = faulty_tests:Dying
missing = faulty_tests:Gone
odd = faulty_tests:attrs
"""
MODULES = {
    "faulty_plugin": """
from interpstack import hookimpl
from interpstack_testing import FakeEngine

class FaultyEngine(FakeEngine):
    name = "faulty"

@hookimpl
def interpstack_register_engine():
    return FaultyEngine
""",
    "sound_plugin": """
from interpstack import hookimpl
from interpstack_testing import FakeEngine

class SoundEngine(FakeEngine):
    name = "sound"

@hookimpl
def interpstack_register_engine():
    return SoundEngine
""",
    "klingon_plugin": """
from interpstack import hookimpl
from interpstack_testing import FakeEngine

class KlingonEngine(FakeEngine):
    name = language = "klingon"

@hookimpl
def interpstack_register_engine():
    return KlingonEngine
""",
    "faulty_tests": """
import os, attrs
from faulty_plugin import FaultyEngine
from sound_plugin import SoundEngine
from interpstack_testing import EngineConformance, PYTHON

# The attacks take most of the kit's time, and are run where the kit itself is tested.
FEW = dict(list(PYTHON.attacks.items())[:1])

class Sound(EngineConformance):
    guest = attrs.evolve(PYTHON, attacks=FEW)

    def make_engine(self):
        return SoundEngine()

class Faulty(EngineConformance):
    guest = attrs.evolve(PYTHON, attacks={}, clock="7", error_name="KeyError")
    gaps = {"test_the_clock_is_the_hosts": "its clock stands still"}

    def make_engine(self):
        return FaultyEngine()

class Dying(Faulty):
    def setup_method(self, method):
        super().setup_method(method)
        if method.__name__ == "test_usage_is_reported":
            os._exit(9)
""",
}


@pytest.fixture
def plugins(distribution):
    return distribution("faulty", ENTRY_POINTS, **MODULES)


def _areas(report):
    return {area["area"]: area for area in report["areas"]}


def test_a_report_has_every_area_with_verdict_and_figures(spawn, plugins):
    process = spawn("engines", "report", "sound", "--json", path=plugins)
    (report,) = json.loads(process.communicate()[0])
    assert (process.returncode, report["ok"], report["broken"]) == (0, True, "")
    assert (report["language"], report["isolation"]) == ("python", "none")
    areas = _areas(report)
    assert areas.keys() == {area.value for area in Area}
    assert areas["cells"]["verdict"] == areas["cpu-limit"]["verdict"] == "passes"
    assert areas["images"]["verdict"] == "not declared"
    assert areas["cpu-limit"]["figures"][0].endswith("ms late")
    assert areas["requests"]["figures"][0].endswith("µs a crossing")


def test_a_report_explains_gaps_and_no_failures(spawn, plugins):
    process = spawn("engines", "report", "faulty", "dying", "--json", path=plugins)
    faulty, dying = json.loads(process.communicate()[0])
    assert process.returncode == 1
    areas = _areas(faulty)
    assert areas["determinism"]["verdict"] == "passes with gaps"
    assert areas["determinism"]["gaps"] == {"test_the_clock_is_the_hosts": "its clock stands still"}
    assert areas["errors"]["verdict"] == "fails"
    (found,) = areas["errors"]["failed"].values()
    assert "KeyError" in found
    assert faulty["ok"] is dying["ok"] is False
    assert dying["broken"].startswith("the process died in test_usage_is_reported with status 9")
    assert _areas(dying)["images"]["verdict"] == "not tested"


def test_a_report_is_a_table(spawn, plugins):
    process = spawn("engines", "report", "faulty", path=plugins, COLUMNS="200")
    stdout, _ = process.communicate()
    assert process.returncode == 1
    for text in ("faulty: python, none", "passes with gaps", "its clock stands still", "Failures"):
        assert text in stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("unheard-of", "unknown engine 'unheard-of'"),
        ("klingon", "runs klingon, of which no samples are registered"),
        ("missing", "cannot be loaded"),
        ("odd", "are not a subclass of EngineConformance"),
    ],
)
def test_engines_that_cannot_be_tested_say_why(spawn, plugins, name, message):
    process = spawn("engines", "report", name, path=plugins)
    _, stderr = process.communicate()
    assert process.returncode == 2
    assert message in stderr


@pytest.mark.parametrize(("names", "status"), [(["node"], 1), ([], 0)])
def test_an_engine_that_cannot_run_here_is_not_tested(run, monkeypatch, names, status):
    """Only for those who name it is that a failure."""
    monkeypatch.setenv("INTERPSTACK_NODE_PATH", "/nowhere/node")
    monkeypatch.setattr(engines, "_installed", lambda: ["node"])
    result = run("engines", "report", *names)
    assert (result.exit_code, result.stdout) == (status, "")
    assert "node was not tested: engine 'node' needs Node" in result.stderr
    assert "pip install 'interpstack[node]'" in result.stderr
    (report,) = json.loads(run("engines", "report", *names, "--json").stdout)
    assert (report["ok"], report["areas"]) == (False, [])


def test_all_engines_are_those_that_are_there(monkeypatch):
    every = engines._installed()
    assert every[0] == "fake"
    assert {"quickjs", "v8", "monty", "node", "process:quickjs", "process:v8"} <= set(every)
    assert "process" not in every
    found = engines.survey()
    absent = attrs.evolve(
        found,
        engines=tuple(entry for entry in found.engines if entry.plugin != "v8"),
        failed=(FailedPlugin("v8", "interpstack", "jsrun is not installed"),),
    )
    monkeypatch.setattr(engines, "survey", lambda: absent)
    assert set(every) - set(engines._installed()) == {"v8", "process:v8"}


def test_the_kit_says_what_it_needs(run, monkeypatch):
    monkeypatch.setattr(conformance, "find_spec", lambda name: None)
    result = run("engines", "report", "fake")
    assert result.exit_code == 2
    assert (
        "needs hypothesis, pytest; install the extra with: pip install 'interpstack[testing]'"
        in (result.stderr)
    )
