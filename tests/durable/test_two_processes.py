"""Two processes resume one pause at the same time; LangGraph does not keep them apart.

The lock of the eval does, in the checkpointer's database: each call is made once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import stores

CODE = """
const got = []
for (const n of [1, 2, 3, 4]) got.push((await tools.act({n, salt: Math.random()})).value)
got.join()
"""
TRIALS = 20 if os.environ.get("INTERPSTACK_DURABLE") == "1" else 1


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("store", stores.LASTING, indirect=True)
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
        ended = [process.communicate(timeout=300)[0].strip() for process in both]
        # One may lose the race for the thread's next checkpoint; the other one comes to the end.
        assert "0" in ended
        assert life.paid() == [1, 2, 3, 4]
        assert life.answers() == ["<result>10,20,30,40</result>"]
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
