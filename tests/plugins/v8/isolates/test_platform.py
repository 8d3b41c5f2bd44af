"""Tests of interpstack_v8.isolates.platform."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack_v8.isolates.platform import _SEEDED, _is_seeded

_STRANGER_FIRST = """
import jsrun
runtime = jsrun.Runtime()
runtime.eval("1")
from interpstack import InterpreterStack
with InterpreterStack(engine="v8") as stack:
    print(stack.session("a").eval_sync("1 + 1").error)
"""
_STRANGER_LATER = """
from interpstack import InterpreterStack
with InterpreterStack(engine="v8") as stack:
    sessions = [stack.session(str(n)) for n in range(3)]
    for session in sessions:
        session.eval_sync("1 + 1")
    import jsrun
    for n in range(20):
        runtime = jsrun.Runtime()
        runtime.eval("globalThis.o = {}; for (let n = 0; n < 5000; n++) o['k' + n] = n + 'v'")
        runtime.close()
        print(sessions[n % 3].eval_sync(f"globalThis.n{n} = 'v' + {n}").text)
"""
_MANY = """
from interpstack import InterpreterStack
for n in range(40):
    with InterpreterStack(engine="v8", plugins=["console"] if n % 2 else []) as stack:
        print(stack.session("a").eval_sync("['x1', 'x2', typeof console].join()").text)
"""


def _run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_v8_that_something_else_started_is_refused() -> None:
    found = _run(_STRANGER_FIRST)
    assert "jsrun was used in this process before" in found
    assert "process:v8" in found


@pytest.mark.parametrize(
    ("numbers", "seeded", "asked"),
    [((_SEEDED,), True, 1), ((0.5, 0.5), True, 2), ((0.5, 0.25), False, 2)],
    ids=["known", "same", "by chance"],
)
def test_a_seed_is_known_or_gives_the_same_number_twice(
    monkeypatch: pytest.MonkeyPatch, numbers: tuple[float, ...], seeded: bool, asked: int
) -> None:
    given: list[float] = []

    def first_random() -> float:
        given.append(numbers[len(given)])
        return given[-1]

    monkeypatch.setattr("interpstack_v8.isolates.platform._first_random", first_random)
    assert _is_seeded() is seeded
    assert len(given) == asked


def test_others_may_use_jsrun_afterwards() -> None:
    assert _run(_STRANGER_LATER).split() == [f"v{n}" for n in range(20)]


def test_realms_with_different_sources_share_a_process() -> None:
    assert _run(_MANY).split() == ["x1,x2,undefined", "x1,x2,object"] * 20
