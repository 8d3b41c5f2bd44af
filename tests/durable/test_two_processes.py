"""Two processes resume one pause at the same time; LangGraph does not keep them apart.

The lock of the eval does, in the checkpointer's database: each call is made once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import stores

CODE = """
const got = []
for (const n of [1, 2, 3, 4]) got.push((await tools.act({n, salt: Math.random()})).value)
got.join()
"""
WHOLE = os.environ.get("INTERPSTACK_DURABLE") == "1"
TRIALS = 20 if WHOLE else 1
#: The other kinds of checkpointers have a test of their own in the sample.
STORES = stores.LASTING if WHOLE else ("sqlite", "postgres-async")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("store", STORES, indirect=True)
def test_one_of_them_makes_the_calls(lives: Any) -> None:
    for _ in range(TRIALS):
        life = lives([CODE], gated=[2])
        whole = lives([CODE], gated=[2])
        assert whole.run()
        assert not life.run(kill=whole.moments().index("returned")), "it is left at its pause"
        assert [n for n, *_ in life.effects()] == [1]
        job = json.dumps({**life.job, "kill": None}) + "\n"
        both = [_process() for _ in range(2)]
        for process in both:
            assert process.stdin
            process.stdin.write(job)
            process.stdin.flush()
        ended = [process.communicate()[0].strip() for process in both]
        # One may lose the race for the thread's next checkpoint; the other one comes to the end.
        assert "0" in ended
        assert life.paid() == [1, 2, 3, 4]
        assert life.answers() == ["<result>10,20,30,40</result>"]
        assert [n for n, *_ in life.effects()] == [1, 2, 3, 4]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("store", ["sqlite-async", "postgres"], indirect=True)
def test_the_one_that_waits_goes_on_when_the_other_one_is_killed(lives: Any) -> None:
    whole = lives([CODE], gated=[2])
    assert whole.run()
    paused = whole.moments().index("returned")
    before_third = whole.moments()[paused + 1 :].index("call 3")
    life = lives([CODE], gated=[2])
    assert not life.run(kill=paused), "it is left at its pause"
    killed, waiting = _process(), _process()
    for process, kill in ((killed, before_third), (waiting, None)):
        assert process.stdin
        process.stdin.write(json.dumps({**life.job, "kill": kill}) + "\n")
        process.stdin.flush()
    ended = [process.communicate()[0].strip() for process in (killed, waiting)]
    assert ended[1] == "0"
    assert [n for n, *_ in life.effects()] == [1, 2, 3, 4]
    assert life.answers() == ["<result>10,20,30,40</result>"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("store", ["sqlite-async"], indirect=True)
def test_a_thread_that_is_resumed_while_it_runs_does_nothing_twice(lives: Any) -> None:
    """As where another process goes on with all threads that seem to have been left."""
    life = lives([CODE], slow_put=0.05)
    running = _process()
    assert running.stdin
    running.stdin.write(json.dumps({**life.job, "kill": None}) + "\n")
    running.stdin.flush()
    until = time.monotonic() + 60
    while not life.effects():
        assert time.monotonic() < until
        time.sleep(0.01)
    life.run()
    running.communicate()
    assert [n for n, *_ in life.effects()] == [1, 2, 3, 4]


def _process() -> subprocess.Popen[str]:
    script = Path(__file__).with_name("processes.py")
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(stores.__file__).parent)},
    )
