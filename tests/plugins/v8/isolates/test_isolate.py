"""What `isolate.py` relies on in jsrun; a failure here names what a new version changed."""

from __future__ import annotations

import asyncio
import gc
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

import jsrun


def _with_runtime(check: Callable[[jsrun.Runtime], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        runtime = jsrun.Runtime(jsrun.RuntimeConfig(max_heap_size=64 * 2**20))
        try:
            await check(runtime)
        finally:
            runtime.close()

    asyncio.run(run())
    gc.collect()  # a runtime in a cycle must go on the thread that made it, as all of them


@pytest.mark.parametrize(
    "source",
    [
        "for (;;);",
        "(async () => { for (;;) await 1; })(); 1",
        "Promise.resolve().then(() => { for (;;); }); 1",
        "({get text() { for (;;); }})",
        "for (let b;;) b = Array(1000)",
        "for (const b = [];;) { b.push(Array(1000).fill(1.5)); if (b.length > 1000) b.length = 0 }",
    ],
)
def test_a_timeout_stops_code_and_the_runtime_goes_on(source: str) -> None:
    async def check(runtime: jsrun.Runtime) -> None:
        await runtime.eval_async("globalThis.kept = 5")
        with pytest.raises(RuntimeError, match=r"timed out|Failed to get property"):
            await runtime.eval_async(source, timeout=0.2)
        assert await runtime.eval_async("kept") == 5

    _with_runtime(check)


def test_jobs_run_before_the_result_is_read() -> None:
    async def check(runtime: jsrun.Runtime) -> None:
        source = "let n = 0; (async () => { await 1; await 1; n = 7; })(); ({get n() { return n }})"
        assert await runtime.eval_async(source) == {"n": 7}

    _with_runtime(check)


def test_the_heap_limit_ends_a_runtime_for_good() -> None:
    async def check(runtime: jsrun.Runtime) -> None:
        for source in ("const a = []; for (;;) a.push({})", "1"):
            with pytest.raises(jsrun.RuntimeTerminated, match="Heap limit"):
                await runtime.eval_async(source)

    _with_runtime(check)


def test_a_host_function_can_park_the_thread() -> None:
    bell: queue.SimpleQueue[None] = queue.SimpleQueue()
    clocks = []

    def park() -> None:
        if hasattr(time, "pthread_getcpuclockid"):
            clocks.append(time.pthread_getcpuclockid(threading.get_ident()))
        bell.get()

    async def check(runtime: jsrun.Runtime) -> None:
        number = runtime.register_op("park", park)
        op = f"__bootstrap.core.ops.op_jsrun_call_python_sync({number}, [])"
        parked = asyncio.ensure_future(runtime.eval_async(f"{op}; 1"))
        await asyncio.sleep(0.2)
        for clock in clocks:
            before = time.clock_gettime(clock)
            await asyncio.sleep(0.2)
            assert time.clock_gettime(clock) - before < 0.05
        bell.put(None)
        assert await parked == 1

    _with_runtime(check)


def test_a_result_can_be_told_while_it_is_read() -> None:
    found = []

    async def check(runtime: jsrun.Runtime) -> None:
        number = runtime.register_op("tell", found.append)
        op = f"__bootstrap.core.ops.op_jsrun_call_python_sync({number}, ['é'.repeat(1e6)])"
        source = (
            f"let m = 0; (async () => {{ await 1; m = 7; }})(); ({{get n() {{ {op}; return m }}}})"
        )
        assert await runtime.eval_async(source, timeout=5.0) == {"n": 7}

    _with_runtime(check)
    assert found == ["é" * 1_000_000]


#: An isolate whose thread calls a host function while it is closed. In a process of its own: only
#: a signal that Python does not handle ends one in which a thread waits with Python's lock.
_BUSY = """
import asyncio
import time
from interpstack import BridgeSet, Limits
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.context import SetupScript
from interpstack_v8.fresh_isolates import FreshIsolates
from interpstack_v8.isolates.endings import isolate_threads

CALLS = '''((core) => {
  globalThis.calls = (number) => {
    for (let left = 20; left > 0; left--) core.ops.op_jsrun_call_python_sync(number, []);
  };
})(__bootstrap.core)'''

fresh = FreshIsolates(Limits(), BridgeSet(), ModuleTable(), None)
fresh._setup = (SetupScript("calls", CALLS), *fresh._setup)
isolate = fresh.open()

async def calls():
    isolate._host.wake()
    await asyncio.gather(*isolate._parked)
    number = isolate._runtime.register_op("called", lambda *_: time.sleep(0.02))
    asyncio.ensure_future(isolate._runtime.eval_async(f"calls({number})"))
    await asyncio.sleep(0.05)

isolate._owner.call(calls())
isolate.close()
while isolate_threads():
    time.sleep(0.01)
print("closed")
"""


def test_closing_does_not_wait_for_a_thread_that_calls_the_host() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _BUSY], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("closed\n", "")
