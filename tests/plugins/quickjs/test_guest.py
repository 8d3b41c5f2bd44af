"""What this plugin relies on inside quickjs-rs and wasmtime; each test names what has changed.

A failure here means: look at `interpstack_quickjs/guest.py` and `webassembly/machine.py` before raising a version bound.
"""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest
import wasmtime

from interpstack import EngineFailure
from interpstack_javascript.guest_files import guest_path
from interpstack_quickjs.guest import STATUS_JS_ERROR, STATUS_OK, Guest
from interpstack_quickjs.webassembly.machine import CpuLimitReached
from interpstack_quickjs.webassembly.runtime import guest_runtime

#: Exported functions that are called, with the number of i32 parameters and results.
_EXPORTS = {
    "call_function": (5, 1),
    "eval_async": (3, 1),
    "eval_code": (3, 1),
    "eval_module": (5, 1),
    "execute_pending_jobs": (0, 1),
    "free_value": (1, 0),
    "get_prop": (4, 1),
    "get_string": (1, 1),
    "last_exception": (1, 1),
    "new_string": (2, 1),
    "new_undefined": (0, 1),
    "qjs_alloc": (1, 1),
    "qjs_free": (2, 0),
    "qjs_last_len": (0, 1),
    "qjs_last_ptr": (0, 1),
    "qjs_result_free": (0, 0),
    "run_gc": (0, 0),
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


# -- what the files offer ------------------------------------------------------------------


@pytest.mark.parametrize("name", _EXPORTS)
def test_exported_function(name: str) -> None:
    exports = {item.name: item.type for item in guest_runtime().compiled.module.exports}
    kind = exports[name]
    assert isinstance(kind, wasmtime.FuncType)
    assert {str(t) for t in (*kind.params, *kind.results)} <= {"i32"}
    assert (len(kind.params), len(kind.results)) == _EXPORTS[name]


def test_exported_memory_and_stack_pointer(guest: Guest) -> None:
    exports = {item.name: item.type for item in guest_runtime().compiled.module.exports}
    assert isinstance(exports["memory"], wasmtime.MemoryType)
    assert isinstance(exports["__stack_pointer"], wasmtime.GlobalType)
    heap = guest.heap()
    assert 0 < heap.stack_pointer <= len(heap.memory)
    assert len(heap.memory) % 65536 == 0


@pytest.mark.parametrize("name", ["_guest.wasm"])
def test_files_are_found_without_importing_the_package(name: str) -> None:
    code = (
        "import sys; from interpstack_javascript.guest_files import guest_path;"
        f"p = guest_path({name!r}); assert p.is_file() and p.read_bytes()[:4] == b'\\0asm';"
        "assert 'quickjs_rs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_missing_file_names_the_remedy() -> None:
    with pytest.raises(EngineFailure, match=r"has no _other\.wasm; run: pip install 'quickjs-rs"):
        guest_path("_other.wasm")


def test_a_missing_package_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interpstack_javascript.guest_files.find_spec", lambda name: None)
    with pytest.raises(EngineFailure, match="quickjs-rs is not installed; run: pip install"):
        guest_path("_fresh.wasm")


# -- calling -------------------------------------------------------------------------------


def test_statuses(guest: Guest) -> None:
    assert guest.evaluate("1")[0] == STATUS_OK == 0
    for source in ("throw new TypeError('m')", "1 +", "null.x"):
        for export in ("eval_code", "eval_async"):
            status, handle = guest.evaluate(source, export)
            if status == STATUS_OK:  # eval_async turns what is thrown into a rejection
                continue
            assert status == STATUS_JS_ERROR == 1
            assert guest.string(guest.get(handle, "message"))


def test_eval_async_resolves_to_a_box(guest: Guest) -> None:
    status, handle = guest.evaluate("await null; 40 + 2", "eval_async")
    assert status == STATUS_OK
    _, watch = guest.evaluate("(p => p.then(b => { globalThis.seen = JSON.stringify(b); }))")
    guest.invoke(watch, handle)
    guest.run_jobs()
    assert _text(guest, "seen") == '{"value":42}'


def test_scripts_are_named_in_stacks(guest: Guest) -> None:
    """The kernel recognises cells by this name."""
    assert "(eval_script:2:" in (
        _text(guest, "(() => {\n throw 1\n}).name + new Error().stack") or ""
    ) or ("eval_script" in (_text(guest, "new Error().stack") or ""))


def test_modules_have_their_own_name(guest: Guest) -> None:
    handle = guest.evaluate_module("export default () => new Error().stack", "interpstack:probe")
    _, stack = guest.invoke(handle)
    assert "interpstack:probe" in (guest.string(stack) or "")


@pytest.mark.parametrize("text", ["", "x", "é€😀", "a\0b", "x" * 100_000])
def test_strings_cross(guest: Guest, text: str) -> None:
    assert guest.string(guest.new_string(text)) == text


def test_arguments_cross(guest: Guest) -> None:
    _, function = guest.evaluate("((...all) => all.join())")
    status, handle = guest.invoke(function, *(guest.new_string(c) for c in "abcde"))
    assert (status, guest.string(handle)) == (STATUS_OK, "a,b,c,d,e")


def test_other_values_are_no_strings(guest: Guest) -> None:
    for source in ("1", "({})", "null", "Symbol()"):
        assert guest.string(guest.evaluate(source)[1]) is None


# -- heaps ---------------------------------------------------------------------------------


def test_fresh_instances_are_identical() -> None:
    """Images are differences from this state, so it must not depend on time, chance or place."""
    first, second = Guest(None), Guest(32 * 2**20)
    for made in (first, second):
        made.evaluate("globalThis.a = [Math.random(), Date.now(), new Error().stack]")
        made.run_jobs()
    assert first.heap() == second.heap()
    first.close()
    second.close()


def test_heaps_carry_state_and_handles(guest: Guest) -> None:
    _, function = guest.evaluate("globalThis.n = 1; (() => String(++n))")
    guest.evaluate(
        "globalThis.wait = new Promise(go => { globalThis.go = go; }).then(v => { n = v; })"
    )
    heap = guest.heap()
    copy = Guest(16 * 2**20)
    copy.load(heap)
    assert [copy.string(copy.invoke(function)[1]) for _ in range(2)] == ["2", "3"]
    assert guest.string(guest.invoke(function)[1]) == "2"
    copy.evaluate("go(10)")
    copy.run_jobs()
    assert copy.string(copy.invoke(function)[1]) == "11"
    copy.close()


def test_a_heap_larger_than_the_limit_is_refused(guest: Guest) -> None:
    guest.evaluate("globalThis.a = new Uint8Array(8e6).fill(1)")
    small = Guest(4 * 2**20)
    with pytest.raises(EngineFailure, match="more than the memory limit"):
        small.load(guest.heap())
    small.close()


# -- limits --------------------------------------------------------------------------------


def test_jobs_run_in_batches(guest: Guest) -> None:
    guest.evaluate("globalThis.n = 0; (async () => { while (n < 150000) { n++; await null; } })()")
    assert guest.call("execute_pending_jobs") == 100_000
    assert _text(guest, "n < 150000") == "true"
    guest.run_jobs()
    assert _text(guest, "n") == "150000"
    assert guest.call("execute_pending_jobs") == 0


def test_endless_jobs_stop_at_the_deadline(guest: Guest) -> None:
    guest.evaluate("(async () => { for (;;) await null; })()")
    guest.set_time(0.1)
    with pytest.raises(CpuLimitReached):
        guest.run_jobs()
    assert guest.interrupted


@pytest.mark.parametrize(
    "source", ["for (;;);", "/(a*)*b/.test('a'.repeat(40))", "try { for (;;); } catch {}"]
)
def test_code_is_interrupted(guest: Guest, source: str) -> None:
    guest.set_time(0.05)
    status, _ = guest.evaluate(source)
    assert status == STATUS_JS_ERROR
    assert guest.interrupted
    guest.set_time(1)
    assert _text(guest, "1 + 1") == "2"


def test_continuations_are_interrupted(guest: Guest) -> None:
    guest.evaluate("Promise.resolve().then(() => { for (;;); })")
    guest.set_time(0.05)
    with pytest.raises(CpuLimitReached):
        guest.run_jobs()
    assert guest.interrupted


def test_the_memory_limit_is_an_error_in_the_guest(guest: Guest) -> None:
    status, handle = guest.evaluate("const a = []; for (;;) a.push(new Uint8Array(1e5))")
    assert status == STATUS_JS_ERROR
    assert guest.string(guest.get(handle, "name")) == "InternalError"
    assert guest.string(guest.get(handle, "message")) == "out of memory"
    assert guest.memory_bytes <= 16 * 2**20


def test_room_is_reported(guest: Guest) -> None:
    assert guest.has_room()
    guest.evaluate(
        "globalThis.a = []; for (const n of [1e5, 1e4, 1e3, 100])"
        " try { for (;;) a.push(new Uint8Array(n)); } catch {}"
    )
    assert not guest.has_room()


def test_normalize_throws_nothing_where_memory_ends(guest: Guest) -> None:
    """Once it throws an error, `builtins.js` has nothing to mend."""
    source = r"(() => { try { '\ufdfa'.repeat(4e5).normalize('NFKD') } catch (e) { return typeof e } })()"
    assert _text(guest, source) == "unknown"
