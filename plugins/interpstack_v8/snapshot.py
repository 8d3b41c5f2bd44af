"""The start snapshot: a fresh context with kernel, web APIs and the plugins' guest sources in it.

Made once per process and set of sources; every isolate starts from it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

import jsrun

from interpstack import EngineFailure, GuestSource
from interpstack.guests.javascript import KERNEL_NAME, kernel_source, web_source

__all__ = ["DOOR", "SCRIPT", "start_snapshot"]

#: Global through which the host enters; see `host.js`.
DOOR: Final = "$interpstack"
_NAME: Final = "guest:cell"
#: What V8 calls a cell in stack traces; the kernel puts the cell's own name in its place.
SCRIPT: Final = f"{_NAME}, <anonymous>"
#: Globals that V8 or jsrun add to each context made from a snapshot, so that the kernel knows
#: them for no variables of the guest.
_LATE: Final = (
    "SuppressedError",
    "DisposableStack",
    "AsyncDisposableStack",
    "Float16Array",
    "ReadableStream",
)

_snapshots: dict[tuple[GuestSource, ...], bytes] = {}
_lock = threading.Lock()


def start_snapshot(sources: Sequence[GuestSource]) -> bytes:
    """The snapshot with these guest sources installed, in order.

    Raises:
        EngineFailure: A source does not run.
    """
    key = tuple(sources)
    with _lock:
        if key not in _snapshots:
            _snapshots[key] = _build(key)
        return _snapshots[key]


def _build(sources: Sequence[GuestSource]) -> bytes:
    builder = jsrun.SnapshotBuilder(enable_console=True)

    def run(name: str, source: str) -> None:
        try:
            builder.execute_script(name, f"{source};undefined")
        except (RuntimeError, jsrun.JavaScriptError) as error:
            raise EngineFailure(f"the guest source {name} failed: {error}") from error

    late = json.dumps(_LATE)
    run("interpstack:setup", f"globalThis.$setup = {_read('setup.js')}")
    run("interpstack:prepare", f"$setup.prepare({late})")
    guarded = "(__bootstrap.core.ops.op_memory_usage)"
    run("interpstack:guard", f"$setup.limit = ({_read('guard.js')}){guarded}")
    run(KERNEL_NAME, f"$setup.kernel = ({kernel_source()})(); $setup.tap()")
    for source in (GuestSource("javascript", "interpstack:web", web_source()), *sources):
        run(source.name, f"({source.source})($setup.api)")
    given = (
        f"$setup.kernel, __bootstrap.core, $setup.limit, {json.dumps(DOOR)}, {json.dumps(_NAME)}"
    )
    run("interpstack:host", f"$setup.record = ({_read('host.js')})({given})")
    run("interpstack:seal", f"$setup.seal({late})")
    return builder.build()


@cache
def _read(name: str) -> str:
    return (files("interpstack_v8") / name).read_text("utf-8")
