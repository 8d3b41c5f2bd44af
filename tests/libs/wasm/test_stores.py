"""The end of a process deletes no store of wasmtime: a callback of the host may be gone by then."""

from __future__ import annotations

import subprocess
import sys

import pytest

_REPORT = """
import os
import wasmtime

def reported(kind):
    delete = kind._delete
    def _delete(self, pointer, write=os.write, delete=delete):
        write(1, b"deleted ")
        delete(self, pointer)
    kind._delete = _delete

reported(wasmtime.Store)
reported(wasmtime.Linker)
"""
_PARSER = """
from interpstack_javascript.parser.parsing import parse
assert not parse("const a = [1]; a.map(x => x + 1)").faults
"""
_QUICKJS = """
from interpstack import InterpreterStack
stack = InterpreterStack()
session = stack.session()
assert session.eval_sync("const a = [1]; a.map(x => x + 1)").text == "[2]"
"""
_BEFORE = """
from interpstack_wasm.stores import WasmLinker, WasmStore
engine = wasmtime.Engine()
store, linker = WasmStore(engine), WasmLinker(engine)
del store, linker
"""


def _printed(code: str) -> list[str]:
    """What a process prints: each deletion, and `end` behind its last statement."""
    done = subprocess.run(
        [sys.executable, "-c", f"{_REPORT}{code}\nprint('end', flush=True)"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize("code", [_PARSER, _QUICKJS], ids=["the parser", "an open session"])
def test_what_is_left_is_freed_with_the_process(code: str) -> None:
    printed = _printed(code)
    assert printed[printed.index("end") :] == ["end"]


def test_what_is_released_before_is_deleted_at_once() -> None:
    assert _printed(_BEFORE) == ["deleted", "deleted", "end"]
