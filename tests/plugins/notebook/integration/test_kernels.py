"""Interrupts and restarts of a kernel, and a whole notebook as HTML."""

from __future__ import annotations

import sys

import psutil
import pytest
from notebooks import LOAD, kernel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="interrupts are signals")


@pytest.mark.parametrize(
    "ending", ["for (;;);", "await new Promise(done => setTimeout(done, 1e6))"]
)
def test_an_interrupt_stops_the_code_and_leaves_the_session(ending: str) -> None:
    with kernel() as running:
        running.run("def begin(): print('begun', flush=True)")
        running.run("%%js --tools begin\nlet a = 41")
        output = running.run(f"%%js\nawait tools.begin({{}}); {ending}", interrupt_at="begun")
        assert output.error is not None
        assert output.error[0] == "KeyboardInterrupt"
        assert running.run("%%js\na + 1").bundles[0]["text/plain"] == "42"


def test_a_restart_leaves_nothing_behind() -> None:
    with kernel() as running:
        assert running.run("%%guest engine=v8\nlet a = 1; a").bundles[0]["text/plain"] == "1"
        pid = int(running.run("import os; print(os.getpid())").text)
        children = psutil.Process(pid).children(recursive=True)
        assert children, "V8 runs in a process of its own"
        running.restart()
        psutil.wait_procs(children, timeout=60)
        assert [one for one in children if one.is_running()] == []
        assert "Cell magic `%%guest` not found" in running.run("%%guest engine=v8\na").text
        running.run(LOAD)
        output = running.run("%%guest engine=v8\ntypeof a")
        assert output.bundles[0]["text/plain"].strip("'\"") == "undefined"
