"""Packages of npm are installed beside the tests of a whole run, and of no other."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import npm_packages
import pytest


class Process:
    pid = 5
    waited = False

    def __init__(self, command: list[str], **options: Any) -> None:
        self.command, self.options = command, options
        self.status: int | None = None

    def poll(self) -> int | None:
        return self.status

    def wait(self) -> None:
        self.waited = True


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    made: list[Process] = []

    def start(*given: Any, **options: Any) -> Process:
        made.append(Process(*given, **options))
        return made[-1]

    monkeypatch.setattr(npm_packages.subprocess, "Popen", start)
    monkeypatch.setattr(npm_packages.sys, "platform", "linux")
    monkeypatch.delenv("TOX_WORK_DIR", raising=False)
    return made


def _config(folder: Path, **changes: Any) -> Any:
    given: dict[str, Any] = {
        "args_source": pytest.Config.ArgsSource.TESTPATHS,
        "cache": SimpleNamespace(mkdir=lambda name: folder / name),
        "option": SimpleNamespace(collectonly=False),
        "stash": pytest.Stash(),
    }
    return SimpleNamespace(**{**given, **changes})


@pytest.mark.parametrize(
    ("suite", "changes", "count"),
    [
        ("sampled", {}, 1),
        ("whole", {}, 1),
        ("versions", {}, 0),
        ("sampled", {"workerinput": {}}, 0),
        ("sampled", {"args_source": pytest.Config.ArgsSource.ARGS}, 0),
        ("sampled", {"cache": None}, 0),
        ("sampled", {"option": SimpleNamespace(collectonly=True)}, 0),
    ],
)
def test_only_a_run_of_all_tests_begins_with_it(
    monkeypatch: pytest.MonkeyPatch,
    started: list[Process],
    tmp_path: Path,
    suite: str,
    changes: dict[str, Any],
    count: int,
) -> None:
    monkeypatch.setenv("INTERPSTACK_SUITE", suite)
    npm_packages.pytest_configure(_config(tmp_path, **changes))
    assert len(started) == count
    assert [process.command[-1].startswith(str(tmp_path)) for process in started] == [True] * count


@pytest.mark.parametrize(("status", "killed"), [(None, [(5, signal.SIGKILL)]), (0, [])])
def test_a_run_that_is_broken_off_leaves_no_npm(
    monkeypatch: pytest.MonkeyPatch,
    started: list[Process],
    tmp_path: Path,
    status: int | None,
    killed: list[Any],
) -> None:
    ended: list[Any] = []
    monkeypatch.setattr(npm_packages.os, "killpg", lambda *given: ended.append(given))
    monkeypatch.setenv("INTERPSTACK_SUITE", "sampled")
    config = _config(tmp_path)
    npm_packages.pytest_unconfigure(config)
    npm_packages.pytest_configure(config)
    started[0].status = status
    npm_packages.pytest_unconfigure(config)
    assert (ended, started[0].waited) == (killed, True)


def test_environments_of_tox_share_an_installation(
    monkeypatch: pytest.MonkeyPatch, started: list[Process], tmp_path: Path
) -> None:
    monkeypatch.setenv("TOX_WORK_DIR", str(tmp_path))
    monkeypatch.setenv("INTERPSTACK_SUITE", "sampled")
    for environment in ("py311", "docs"):
        npm_packages.pytest_configure(_config(tmp_path / environment))
    folders = {process.command[-1] for process in started}
    assert [Path(folder).parent for folder in folders] == [tmp_path]
