"""What all guests of a process share, and the system they do not have."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_quickjs.guest import STATUS_OK, Guest
from interpstack_quickjs.webassembly.runtime import current, guest_runtime

#: Everything that must be there for an instance to start.
_IMPORTS = {
    ("env", "host_call"),
    ("env", "host_interrupt"),
    ("env", "host_module_load"),
    ("env", "host_module_normalize"),
    ("wasi_snapshot_preview1", "clock_time_get"),
    ("wasi_snapshot_preview1", "environ_get"),
    ("wasi_snapshot_preview1", "environ_sizes_get"),
    ("wasi_snapshot_preview1", "fd_close"),
    ("wasi_snapshot_preview1", "fd_fdstat_get"),
    ("wasi_snapshot_preview1", "fd_seek"),
    ("wasi_snapshot_preview1", "fd_write"),
    ("wasi_snapshot_preview1", "proc_exit"),
    ("wasi_snapshot_preview1", "random_get"),
}


@pytest.fixture
def guest() -> Iterator[Guest]:
    made = Guest(16 * 2**20)
    with made.runtime.ticker:
        yield made
    made.close()


def _text(guest: Guest, source: str) -> str | None:
    status, handle = guest.evaluate(f"String({source})")
    assert status == STATUS_OK, guest.string(guest.get(handle, "message"))
    return guest.string(handle)


def test_imported_functions() -> None:
    found = {(item.module, item.name) for item in guest_runtime().compiled.module.imports}
    assert found == _IMPORTS


def test_there_is_no_system_interface(guest: Guest) -> None:
    assert _text(guest, "typeof std + typeof os + typeof print") == "undefinedundefinedundefined"
    assert _text(guest, "Date.now()") == "0"


def test_two_threads_do_not_mix_up_their_guests() -> None:
    import threading

    results: dict[int, Any] = {}

    def run(number: int) -> None:
        made = Guest(None)
        with made.runtime.ticker:
            made.set_time(5)
            results[number] = _text(
                made,
                f"(() => {{ let n = 0; for (let i = 0; i < 2e5; i++) n += {number}; return n; }})()",
            )
        made.close()

    threads = [threading.Thread(target=run, args=(n,)) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: str(n * 200_000) for n in (1, 2, 3)}


def test_a_process_has_one_runtime() -> None:
    assert guest_runtime() is guest_runtime()
    first, second = Guest(None), Guest(None)
    assert first.runtime is second.runtime
    assert first.runtime.engine is first.runtime.host.engine
    first.close()
    second.close()


def test_the_guest_that_runs_is_one_of_its_thread() -> None:
    before = current.enter("outer")
    try:
        assert current.enter("inner") == "outer"
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(current.guest))
        thread.start()
        thread.join()
        assert (seen, current.guest) == ([None], "inner")
    finally:
        current.enter(before)


def test_imports_ask_the_guest_that_runs(guest: Guest) -> None:
    names = {("main", "./a"): "a"}
    guest.resolve_module = lambda base, name: names.get((base, name))
    guest.load_module = {"a": "export default 'é€'"}.get
    found = guest.evaluate_module("export {default} from './a'", "main")
    assert guest.string(found) == "é€"
    with pytest.raises(EngineFailure, match="main does not evaluate"):
        guest.evaluate_module("export {default} from './b'", "main")
