"""The event loop's thread does no file access, whatever is used for the first time."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
ENGINES = {
    "quickjs": "quickjs_rs",
    "v8": "jsrun",
    "monty": "pydantic_monty",
    "process:quickjs": "quickjs_rs",
}
CASES = [
    *((scenario, engine) for scenario in ("session", "limits", "agent") for engine in ENGINES),
    *(("typescript", engine) for engine in ("quickjs", "v8")),
    *(("skills", engine) for engine in ("quickjs", "v8")),
]


@pytest.mark.parametrize(("scenario", "engine"), CASES)
def test_nothing_is_read_on_the_loop(scenario: str, engine: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(ENGINES[engine]) is None:
        pytest.skip(f"{ENGINES[engine]} is missing")
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "first_use.py"), scenario, engine],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("", "", 0)


def test_the_detector_sees_files_imports_and_processes(tmp_path: Path) -> None:
    """What it must find is done by the project's own code: through a stack made on the loop."""
    program = (
        "import asyncio, first_use, blocking\n"
        "from interpstack import InterpreterStack\n"
        "detector = blocking.Detector()\n"
        "async def main():\n"
        "    detector.on = True\n"
        "    InterpreterStack(plugins=['console']).close()\n"
        "    detector.on = False\n"
        "asyncio.run(main())\n"
        "kinds = {line.split()[0] for line in detector.found}\n"
        "assert {'open', 'import', 'os.stat'} <= kinds, kinds\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
