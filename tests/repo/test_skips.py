"""Continuous integration fails where a part is missing, and where a gate has nothing to check."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_FILE = """
import pytest

def test_of_a_server():
    pytest.skip("there is no PostgreSQL server here")

@pytest.mark.skipif(True, reason="bubblewrap is not installed")
def test_of_a_program():
    pass

@pytest.fixture
def redis():
    pytest.skip("there is no Redis server here")

def test_of_a_fixture(redis):
    pass

def test_of_a_gap():
    pytest.skip("the engine does not declare images")

@pytest.mark.xfail(reason="declared", strict=True)
def test_that_fails():
    assert False

def test_that_passes():
    pass
"""


def _run(root: Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder with the settings and the plugin of this repository."""
    clean = {key: value for key, value in os.environ.items() if key not in ("CI", "PYTEST_ADDOPTS")}
    (folder / "conftest.py").write_text("pytest_plugins = ['skips']\n", "utf-8")
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-c", str(root / "pyproject.toml")),
            *("-p", "asyncio", "-p", "timeout", "-p", "no:cacheprovider"),
            *("--rootdir", str(folder), str(folder)),
        ],
        env={
            **clean,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(root / "tests" / "support"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems lack more")
def test_a_test_that_is_skipped_for_a_missing_part_fails_where_ci_is_set(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "test_parts.py").write_text(_FILE, "utf-8")
    done = _run(root, tmp_path, CI="true")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed, 2 errors" in done.stdout
    for part in (
        "there is no PostgreSQL server here",
        "bubblewrap is not installed",
        "there is no Redis server here",
    ):
        assert f"which continuous integration does not allow: {part}" in done.stdout


def test_elsewhere_the_test_is_skipped(root: Path, tmp_path: Path) -> None:
    (tmp_path / "test_parts.py").write_text(_FILE, "utf-8")
    done = _run(root, tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 4 skipped, 1 xfailed" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="other systems lack more")
def test_a_file_that_is_skipped_for_a_missing_package_fails_where_ci_is_set(
    root: Path, tmp_path: Path
) -> None:
    missing = "import pytest\npytest.importorskip('no_such_package')\n\ndef test_it(): pass\n"
    (tmp_path / "test_parts.py").write_text(missing, "utf-8")
    done = _run(root, tmp_path, CI="true")
    assert done.returncode != 0, done.stdout
    assert "could not import 'no_such_package'" in done.stdout


def test_a_test_without_a_single_case_fails(root: Path, tmp_path: Path) -> None:
    empty = "import pytest\n@pytest.mark.parametrize('case', [])\ndef test_it(case): pass\n"
    (tmp_path / "test_none.py").write_text(empty, "utf-8")
    done = _run(root, tmp_path)
    assert done.returncode != 0, done.stdout
    assert "Empty parameter set" in done.stdout
