"""Runs on V8 what is marked for it, each file in a process of its own.

jsrun 0.3 can end the process it runs in, after many isolates; see `tests/plugins/v8/test_apart.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

_TESTS = Path(__file__).parents[1]
_MARKS = ('@pytest.mark.engines("javascript"', '@pytest.mark.engines("all"')
_FILES = sorted(
    path.relative_to(_TESTS).as_posix()
    for folder in ("integration", "plugins")
    for path in (_TESTS / folder).rglob("test_*.py")
    if path != Path(__file__) and any(mark in path.read_text("utf-8") for mark in _MARKS)
)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", _FILES)
def test_in_a_process_of_its_own(name: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    done = subprocess.run(
        [*command, "-m", "engines", "-k", "v8", str(_TESTS / name)],
        env={**os.environ, "INTERPSTACK_V8": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
