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
#: Name of cells in stack traces; the kernel puts the cell's own name in its place.
SCRIPT: Final = "guest:cell"
#: Globals that V8 or jsrun add to each context made from a snapshot, so that the kernel knows
#: them for no variables of the guest.
_LATE: Final = ("SuppressedError", "DisposableStack", "AsyncDisposableStack", "Float16Array")

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
    run("interpstack:prepare", _PREPARE.replace("LATE", late))
    run("interpstack:guard", f"$m.limit = ({_read('guard.js')})(__bootstrap.core.memoryUsage)")
    run(KERNEL_NAME, f"$m.kernel = ({kernel_source()})()")
    run("interpstack:api", _API)
    for source in (GuestSource("javascript", "interpstack:web", web_source()), *sources):
        run(source.name, f"({source.source})($m.api)")
    given = f"$m.kernel, __bootstrap.core, $m.limit, {json.dumps(DOOR)}, {json.dumps(SCRIPT)}"
    run("interpstack:host", f"$m.record = ({_read('host.js')})({given})")
    run("interpstack:seal", _SEAL.replace("LATE", late))
    return builder.build()


#: Web APIs look at shared memory, which guests do not get.
_PREPARE: Final = """
globalThis.$m = {__proto__: null};
delete globalThis.console;
globalThis.SharedArrayBuffer ??= class SharedArrayBuffer {
  get byteLength() { throw new TypeError(); }
};
for (const name of LATE) globalThis[name] ??= undefined;
"""
_API: Final = """
(() => {
  const { kernel } = $m, memory = $m;
  const write = kernel.api.write;
  memory.api = Object.freeze({
    __proto__: null, ...kernel.api, write(line) { memory.record?.(line); write(line); },
  });
})()
"""
_SEAL: Final = """
(() => {
  const { kernel } = $m;
  kernel.seal();
  for (const name of LATE) if (globalThis[name] === undefined) delete globalThis[name];
  delete globalThis.$m;
})()
"""


@cache
def _read(name: str) -> str:
    return (files("interpstack_v8") / name).read_text("utf-8")
