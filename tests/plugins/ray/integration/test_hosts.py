"""A host dies, and another one continues its sessions. Needs the extra `ray`."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from clusters import local_cluster

from interpstack import InterpreterStack
from interpstack_sessions.api import StoredSessions
from interpstack_state import SQLiteStore

pytest.importorskip("ray")

HOST = Path(__file__).with_name("host_that_dies.py")


def test_another_host_goes_on_and_no_actor_is_left(tmp_path: Path, until: Any) -> None:
    path = str(tmp_path / "sessions.db")
    with local_cluster() as ray:
        address = ray.get_runtime_context().gcs_address
        host = subprocess.run(
            [sys.executable, str(HOST), address, path], capture_output=True, text=True
        )
        assert host.returncode == -signal.SIGKILL, host.stderr
        pids = [int(pid) for pid in host.stdout.split()]
        assert pids
        until(lambda: not any(psutil.pid_exists(pid) for pid in pids), 60.0)

        sessions = StoredSessions(SQLiteStore(path), patience_seconds=30.0)
        with InterpreterStack("ray:quickjs", [sessions]) as stack:
            outcome = stack.session("shared").eval_sync("count + 1")
        assert (outcome.text, outcome.error) == ("42", None)
