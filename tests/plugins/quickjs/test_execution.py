"""One cell of QuickJS, poll by poll: limits, suspension, undoing."""

from __future__ import annotations

import pytest
from quickjs_realms import moved, open_realm, run, text_of

from interpstack import (
    Cell,
    GuestError,
    Settlement,
)
from interpstack_quickjs.guest import Guest


def test_a_cell_that_never_ran_is_undone_to_the_state_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    realm, copies = open_realm(), []
    run(realm, "let kept = 41")
    copied = Guest.heap
    monkeypatch.setattr(Guest, "heap", lambda *args: copies.append(1) or copied(*args))
    execution = realm.start(Cell(source="kept = 1"))
    assert not copies, "to start a cell is to take no time"
    if execution.abort("left").failure is None:
        execution.undo()
    assert text_of(realm, "kept + 1") == "42"
    realm.close()


_SCRIPT = """
let log = [];
const part = async (n) => { const v = await host.get(n); log.push(v); return v * 2; };
const both = await Promise.all([part(1), part(2)]);
try { await host.other('bad'); } catch (e) { log.push(e.name + ':' + e.message + ':' + e.tool); }
const last = await host.get('last');
[both, log, last, Math.random() < 1]
"""


def test_a_cell_goes_on_elsewhere_at_every_stop() -> None:
    realm = open_realm()
    realm, run = realm, realm.start(Cell(source=_SCRIPT, name="moved", seed=5))
    one, two = run.poll(0.0, 1.0).requests
    realm, run = moved(realm)
    run.settle([Settlement(two.id, "20")])
    assert run.poll(0.0, 1.0).requests == []
    realm, run = moved(realm)
    run.settle([Settlement(one.id, "10")])
    (bad,) = run.poll(0.0, 1.0).requests
    assert bad.bridge == "host.other"
    realm, run = moved(realm)
    run.settle(
        [Settlement(bad.id, error=GuestError("ToolError", "no", data={"tool": "host.other"}))]
    )
    (last,) = run.poll(0.0, 1.0).requests
    realm, run = moved(realm)
    run.settle([Settlement(last.id, '{"a":[1]}')])
    completion = run.poll(0.0, 1.0).completion
    assert completion is not None
    assert completion.text == '[[20, 40], [20, 10, "ToolError:no:host.other"], {a: [1]}, true]'
    assert text_of(realm, "log.length") == "3"
    realm.close()


def test_a_resumed_cell_can_fail_with_its_own_name() -> None:
    realm = open_realm()
    realm.start(Cell(source="\nawait host.get(1); null.x", name="moved")).poll(0.0, 1.0)
    realm, run = moved(realm)
    run.settle([Settlement(1, "0")])
    completion = run.poll(0.0, 1.0).completion
    assert completion is not None
    assert completion.error is not None
    assert "(moved:2:" in completion.error.stack
    realm.close()


def test_a_resumed_cell_can_be_aborted() -> None:
    realm = open_realm()
    realm.start(Cell(source="globalThis.n = 1; await host.get(1); n = 2")).poll(0.0, 1.0)
    realm, run = moved(realm)
    run.abort("enough")
    assert text_of(realm, "n") == "1"
    assert text_of(open_realm(realm.image()), "n") == "1"
    realm.close()


@pytest.mark.parametrize(
    "source",
    {
        "code": "for (;;);",
        "continuation": "await null; for (;;);",
        "getter while rendering": "({get a() { for (;;); }})",
        "toJSON in an argument": "class J { toJSON() { for (;;); } }; host.get(new J)",
        "getter in an argument": "host.get({get a() { for (;;); }})",
        "getter of the error": "throw {get a() { for (;;); }}",
    }.values(),
)
def test_the_cpu_limit_holds(source: str) -> None:
    realm = open_realm()
    run(realm, "const keep = 1; 0")
    execution = realm.start(Cell(source=source))
    progress = execution.poll(0.0, 0.1)
    assert progress.exhausted
    assert progress.cpu_seconds >= 0.1
    execution.abort("out of time")
    assert text_of(realm, "keep") == "1"
    realm.close()


def test_the_cpu_limit_holds_after_a_settlement() -> None:
    realm = open_realm()
    execution = realm.start(Cell(source="await host.get(1); for (;;);"))
    (request,) = execution.poll(0.0, 5.0).requests
    execution.settle([Settlement(request.id, "1")])
    assert execution.poll(0.0, 0.1).exhausted
    execution.abort("out of time")
    assert text_of(realm, "1 + 1") == "2"
    realm.close()


@pytest.mark.parametrize("budget", [0.0, 1e-9])
def test_no_cpu_time_at_all(budget: float) -> None:
    realm = open_realm()
    run(realm, "const keep = 1; 0")
    execution = realm.start(Cell(source="for (;;);"))
    assert execution.poll(0.0, budget).exhausted
    execution.abort("out of time")
    assert text_of(realm, "keep") == "1"
    realm.close()


def test_answers_too_large_for_the_guest() -> None:
    realm = open_realm()
    run(realm, "const keep = 1; 0")
    execution = realm.start(Cell(source="await host.get(1)"))
    (request,) = execution.poll(0.0, 1.0).requests
    execution.settle([Settlement(request.id, '"' + "x" * 15_000_000 + '"')])
    progress = execution.poll(0.0, 1.0)
    assert progress.failure is not None
    assert progress.failure.name == "OutOfMemory"
    assert progress.state == "undone"
    assert text_of(realm, "keep") == "1"
    realm.close()


@pytest.mark.parametrize("index", range(4))
def test_arrays_that_are_tampered_with_change_no_input(index: int) -> None:
    realm = open_realm()
    trap = "{set(v) { throw 1 }, get() { throw 2 }, configurable: true}"
    run(realm, f"Object.defineProperty(Array.prototype, {index}, {trap}); 0")
    execution = realm.start(Cell(source="host.get({a: {b: [{c: 1}]}}); 0"))
    (request,) = execution.poll(0.0, 1.0).requests
    assert request.wire == {"a": {"b": [{"c": 1}]}}
    realm.close()


@pytest.mark.parametrize(
    ("source", "frames"),
    [
        ("eval('\\n throw new Error(1)')", "at eval (<evaluated>:2:12)\nat <cell> (cell:1:1)"),
        ("eval('null.x')", "at eval (<evaluated>)\nat <cell> (cell:1:1)"),
        ("await null; eval('null.x')", "at eval (<evaluated>)\nat <cell> (cell:1:13)"),
        ("new Function('null.x')()", "at anonymous (<evaluated>:3:6)\nat <cell> (cell:1:5)"),
        ("eval('let = = 1')", "at <evaluated>:1:1\nat <cell> (cell:1:1)"),
        ("JSON.parse('[\\n1,\\n}')", "at <cell> (cell:1:6)"),
        ("eval('JSON.parse(\"{\")')", "at eval (<evaluated>:1:5)\nat <cell> (cell:1:1)"),
        ("function parse(text) { return eval(text) }; parse('let = = 1')",
         "at <evaluated>:1:1\nat parse (cell:1:36)\nat <cell> (cell:1:45)"),
        ("function anonymous() { null.x }; anonymous()",
         "at anonymous (cell:1:29)\nat <cell> (cell:1:34)"),
        ("function f() { throw 1 }; function g() { throw new Error(2) }; await null; g()",
         "at g (cell:1)\nat <cell> (cell:1:76)"),
        ("const a = 1;\nfunction g() { throw new Error(2) }\nawait null;\ng()",
         "at g (cell:2:26)\nat <cell> (cell:4:1)"),
    ],
)  # fmt: skip
def test_frames_name_no_place_that_the_cell_does_not_have(source: str, frames: str) -> None:
    realm = open_realm()
    execution = realm.start(Cell(source=source))
    completion = execution.poll(0.0, 1.0).completion
    assert completion is not None
    assert completion.error is not None
    assert [line.strip() for line in completion.error.stack.splitlines()] == frames.split("\n")
    realm.close()


@pytest.mark.parametrize("before", ["", "await null; "])
def test_traces_that_are_cut_off_name_no_text_that_code_has_not_evaluated(before: str) -> None:
    realm = open_realm()
    for depth in range(14):
        code = f"{before}var d = (n) => n === 0 ? new Error('x').stack : d(n - 1) + ''; d({depth})"
        completion = realm.start(Cell(source=code)).poll(0.0, 1.0).completion
        assert completion is not None
        assert "at d (cell:1:" in completion.text
        assert "evaluated" not in completion.text, depth
    realm.close()
