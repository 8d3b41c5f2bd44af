"""Runs the tests of this folder, each file in a process of its own.

jsrun 0.3 can end the process it runs in: V8 stops at a failed check (`index < size()`) after many
isolates of different snapshots. That must not take the other tests with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

_FOLDER = Path(__file__).parent
_FILES = sorted(path.name for path in _FOLDER.glob("test_*.py") if path.name != "test_apart.py")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", _FILES)
def test_in_a_process_of_its_own(name: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [*command, str(_FOLDER / name)],
        env={**os.environ, "INTERPSTACK_V8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
