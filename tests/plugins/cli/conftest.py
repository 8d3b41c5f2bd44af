"""The command line, in this process and in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from interpstack_cli import main

Run = Callable[..., Result]
Spawn = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty current directory, no colours, no history of the user, `sys.path` put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def run() -> Run:
    """Run the command line; unexpected exceptions come out."""

    def call(*args: str, stdin: str | bytes = "") -> Result:
        return CliRunner().invoke(main, args, input=stdin, catch_exceptions=False)

    return call


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    """Start the command line as users do; `path` holds folders of more distributions."""
    started: list[subprocess.Popen[str]] = []

    def start(*args: str, path: Path | None = None, **env: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(path or ""), **env}
        process = subprocess.Popen(
            [sys.executable, "-m", "interpstack", *args],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        started.append(process)
        return process

    yield start
    for process in started:
        with process:  # closes its pipes
            process.kill()


@pytest.fixture
def distribution(tmp_path: Path) -> Callable[..., Path]:
    """Make a folder with an installed distribution: entry points and modules."""

    def make(
        name: str,
        entry_points: str,
        *extras: str,
        requires: Iterable[str] = (),
        **modules: str,
    ) -> Path:
        folder = tmp_path / "site"
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        lines = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 1.0"]
        lines += [f"Requires-Dist: {requirement}" for requirement in requires]
        lines += [f"Provides-Extra: {extra}" for extra in extras]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        (info / "entry_points.txt").write_text(entry_points)
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(source)
        return folder

    return make
