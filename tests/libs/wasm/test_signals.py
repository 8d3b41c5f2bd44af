"""Tests of interpstack_wasm.signals, in processes of their own, which a signal may end."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="wasmtime uses signals on Linux")

#: What code of a host may do once an engine is there.
REPLACES = {
    "faulthandler": "faulthandler.enable()",
    "faulthandler-again": "faulthandler.enable(); faulthandler.disable(); faulthandler.enable()",
    "signal": "[signal.signal(n, signal.SIG_DFL) for n in (4, 8, 11)]",
}
#: Functions of WebAssembly that end in each of the signals.
MODULE = """
(module (memory 1)
  (func $stack (export "stack") (call $stack) (call $stack))
  (func (export "divide") (drop (i32.div_s (i32.const 1) (i32.const 0))))
  (func (export "memory") (drop (i32.load (i32.const 0x7fffffff)))))
"""
PROGRAM = """
import faulthandler, logging, signal, sys
import wasmtime
from interpstack_wasm.host import wasm_host

logging.basicConfig(stream=sys.stdout, format="%(message)s")
{first}
host = wasm_host()
store = wasmtime.Store(host.engine)
store.set_epoch_deadline(10**9)
module = wasmtime.Module(host.engine, {module!r})
exports = wasmtime.Instance(store, module, []).exports(store)
for name in ("stack", "divide", "memory"):
    {replaces}
    with host.ticker:
        try:
            exports[name](store)
        except wasmtime.Trap as error:
            print("trapped", error.trap_code.name)
"""


def _run(replaces: str, first: str = "") -> list[str]:
    program = textwrap.dedent(PROGRAM).format(replaces=replaces, first=first, module=MODULE)
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


TRAPPED = ["STACK_OVERFLOW", "INTEGER_DIVISION_BY_ZERO", "MEMORY_OUT_OF_BOUNDS"]


@pytest.mark.parametrize("replaces", REPLACES.values(), ids=REPLACES)
def test_a_guest_ends_no_process_that_has_other_handlers(replaces: str) -> None:
    seen, *found = _run(replaces)
    assert "has replaced wasmtime's handler for SIG" in seen
    assert found == [f"trapped {name}" for name in TRAPPED], "it is told once"


def test_without_other_handlers_nothing_is_reported() -> None:
    assert _run("pass") == [f"trapped {name}" for name in TRAPPED]


def test_handlers_of_an_engine_that_others_made_before_are_kept() -> None:
    seen, *found = _run(REPLACES["faulthandler"], first="wasmtime.Engine()")
    assert "has replaced" in seen
    assert found == [f"trapped {name}" for name in TRAPPED]


def test_a_cell_that_recurses_without_end_ends_no_process(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import asyncio, faulthandler
            from interpstack import InterpreterStack

            async def main():
                async with InterpreterStack(plugins=[]).session("one") as session:
                    await session.eval("1")
                    faulthandler.enable()
                    print((await session.eval("function down() { down() } down()")).error.name)
                    print((await session.eval("2")).text)

            asyncio.run(main())
            """
        )
    )
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["RangeError", "2"]
