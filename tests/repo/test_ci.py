"""`.ci/run` leaves nothing out: it fails where it cannot install a part, or its command fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")

_PARTS = {
    "initdb": "postgresql",
    "redis-server": "redis-server",
    "bwrap": "bubblewrap",
    "dot": "graphviz",
    "git": "git",
}
_SHELL = ("bash", "dirname", "grep", "sed", "sort", "ls", "env")
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(root: Path, tmp_path: Path) -> Run:
    """Runs `.ci/run` on a machine that has few programs, all of which are scripts of the test."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in _SHELL:
        found = shutil.which(name)
        assert found is not None, name
        (programs / name).symlink_to(found)

    def run(*, without: str = "", **scripts: str) -> subprocess.CompletedProcess[str]:
        parts = {part: "exit 0" for part in _PARTS if part != without}
        scripts = {"python3": 'env > "$SEEN"; exit 0', **parts, **scripts}
        for name, script in scripts.items():
            path = programs / name.replace("apt_get", "apt-get")
            path.write_text(f"#!{programs}/bash\n{script}\n", "utf-8")
            path.chmod(0o755)
        # what `python3 -m venv` would have made
        environment = {
            "PATH": str(programs),
            "SEEN": str(tmp_path / "seen"),
            "POSTGRES_PROGRAMS": str(programs),
        }
        return subprocess.run(
            [str(programs / "bash"), str(copy / ".ci" / "run")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    copy = tmp_path / "checkout"
    (copy / ".ci").mkdir(parents=True)
    shutil.copy(root / ".ci" / "run", copy / ".ci" / "run")
    (copy / "README.md").write_text(
        "<!-- test command -->\n```bash\npython3 -m venv .venv-tox && python3 tox\n```\n", "utf-8"
    )
    return run


def test_it_runs_the_command_of_the_readme_with_every_part_and_every_python(
    run: Run, tmp_path: Path
) -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    seen = (tmp_path / "seen").read_text("utf-8").splitlines()
    assert {"CI=true", "TOX_SKIP_MISSING_INTERPRETERS=false"} <= set(seen)


def test_it_fails_with_the_status_of_the_command(run: Run) -> None:
    assert run(python3="exit 7").returncode == 7


@pytest.mark.parametrize("program", _PARTS)
def test_a_missing_part_is_installed(run: Run, tmp_path: Path, program: str) -> None:
    done = run(without=program, apt_get=f'echo "$@" >> "{tmp_path}/installed"')
    assert done.returncode == 0, done.stderr
    assert _PARTS[program] in (tmp_path / "installed").read_text("utf-8").split()


@pytest.mark.parametrize("program", _PARTS)
@pytest.mark.parametrize("scripts", [{}, {"apt_get": "exit 100"}], ids=["no apt", "no package"])
def test_a_part_that_cannot_be_installed_fails_the_run(
    run: Run, tmp_path: Path, program: str, scripts: dict[str, str]
) -> None:
    done = run(without=program, **scripts)
    assert done.returncode == 1
    assert f"cannot be installed here: {_PARTS[program]}" in done.stderr
    assert not (tmp_path / "seen").exists()


def _steps(root: Path) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for path in sorted((root / ".github" / "workflows").glob("*.yml")):
        for name, job in yaml.safe_load(path.read_text("utf-8"))["jobs"].items():
            found += [(f"{path.name}: {name}", item) for item in [job, *job["steps"]]]
    return found


def test_no_job_of_a_workflow_hides_a_failure(root: Path) -> None:
    """The job `dependencies` may fail with releases that no change of this project has made."""
    steps = _steps(root)
    assert len(steps) > 10
    excused = [name for name, step in steps if step.get("continue-on-error")]
    assert excused == ["test.yml: dependencies"]
    commands = [step["run"] for _, step in steps if "run" in step]
    assert [one for one in commands if "|| true" in one or "set +e" in one] == []


def test_workflows_skip_no_python(root: Path) -> None:
    text = (root / ".github" / "workflows" / "test.yml").read_text("utf-8")
    assert yaml.safe_load(text)["env"]["TOX_SKIP_MISSING_INTERPRETERS"] == "false"


def test_no_command_of_tox_hides_a_failure(root: Path) -> None:
    """A command behind `-` may fail, `--quiet` hides warnings, `--reruns` hides a flake."""
    lines = (root / "tox.ini").read_text("utf-8").splitlines()
    commands = [line.strip().removeprefix("commands =").strip() for line in lines]
    hidden = ("- ", "|| true", "--quiet", "--reruns", "ignore_errors", "ignore_outcome")
    found = [
        line for line in commands if line.startswith("- ") or any(h in line for h in hidden[1:])
    ]
    assert found == []
    assert os.access(root / ".ci" / "run", os.X_OK)
