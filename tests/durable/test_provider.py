"""The provider of the tests themselves: it has a payment whole, or not at all."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import processes


def killed_at(number: int, folder: Path) -> bool:
    """Pay in a process that is killed before the system call of this number; False if it ended."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    calls = 0

    def count(event: str, args: Any) -> None:
        nonlocal calls
        if event in ("open", "os.link", "os.remove", "os.rename"):
            calls += 1
            if calls == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    processes._pay_once(folder / "provider" / "key", 7)
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
def test_a_payment_is_whole_or_not_there(tmp_path: Path) -> None:
    for name in ("provider", "unpaid"):
        (tmp_path / name).mkdir()
    paid, number = tmp_path / "provider" / "key", 0
    while killed_at(number := number + 1, tmp_path):
        assert not paid.exists() or paid.read_text() == "7"
    assert number > 2, "it was killed at least twice"
    assert [path.read_text() for path in paid.parent.iterdir()] == ["7"]
