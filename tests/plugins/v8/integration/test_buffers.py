"""What array buffers cost besides their bytes, which V8 does not count."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsrun
import pytest

from interpstack import Session

_GUARD = (files("interpstack_v8") / "guard.js").read_text("utf-8")
_ROOM = 8 * 2**20
#: What 384 bytes for each buffer allow in that room.
_MOST = _ROOM // 384

_KEPT = {
    "buffer": "new ArrayBuffer(1)",
    "buffer by text": "new ArrayBuffer('1')",
    "class": "new (class B extends ArrayBuffer {})(1)",
    "copy of a buffer": "one.slice(0)",
    "moved": "new ArrayBuffer(1).transfer()",
    "array": "new Uint8Array(65)",
    "array by text": "new Uint8Array('65')",
    "array of items": "Uint8Array.from({length: 65})",
    "copy of an array": "many.slice(0)",
    "mapped": "many.map((each) => each)",
    "filtered": "many.filter(() => true)",
    "copy of a buffer without a class": "(one.constructor = undefined, one.slice(0))",
    "copy of an array without a class": "(many.constructor = undefined, many.slice(0))",
    "mapped without a class": "(many.constructor = {}, many.map((each) => each))",
    "filtered without a class": "(many.constructor = {}, many.filter(() => true))",
    "sorted": "many.toSorted()",
    "changed": "many.with(0, 1)",
    "buffer of a small array": "new Uint8Array(1).buffer",
    "part of a small array": "new Uint8Array(1).subarray(0)",
}


async def _run(source: str) -> Any:
    """Run code in a bare V8 whose guard leaves room for so many buffers."""
    runtime = jsrun.Runtime(jsrun.RuntimeConfig(enable_console=True))
    script = f"""(() => {{
      const memory = __bootstrap.core.ops.op_memory_usage;
      const limit = ({_GUARD})(memory);
      const one = new ArrayBuffer(1), many = new Uint8Array(65), kept = [];
      limit(memory().external + {_ROOM});
      {source}
    }})()"""
    return await runtime.eval_async(script)


@pytest.mark.parametrize("made", _KEPT.values(), ids=_KEPT)
async def test_small_buffers_that_are_kept_count(made: str) -> None:
    source = f"""
    try {{ for (let i = 0; i < {4 * _MOST}; i++) kept.push({made}); }}
    catch (error) {{ return String(error) + kept.length; }}
    return kept.length"""
    name, message = "RangeError: ", "Array buffer allocation failed"
    text = str(await _run(source))
    assert text.startswith(name + message)
    assert _MOST // 4 < int(text.removeprefix(name + message)) < 2 * _MOST


@pytest.mark.parametrize(
    "copy", ["slice(0)", "map((each) => each)", "filter(() => true)", "buffer.slice(0)"]
)
async def test_bytes_of_copies_count_although_their_source_names_no_class(copy: str) -> None:
    source = f"""
    const large = new Uint8Array(2 ** 20), nothing = {{get() {{ new ArrayBuffer(1); }}}};
    Object.defineProperty(large, 'constructor', nothing);
    Object.defineProperty(large.buffer, 'constructor', nothing);
    try {{ for (let i = 0; i < 100; i++) kept.push(large.{copy}); }}
    catch (error) {{ return String(error) + (kept.length <= {_ROOM // 2**20}); }}"""
    assert await _run(source) == "RangeError: Array buffer allocation failedtrue"


@pytest.mark.parametrize(
    "given",
    [
        "{length: 3e8}",
        "{length: 3e8}, 0",
        "{get length() { return asked++ ? 3e8 : 1; }}",
        "new Proxy([], {get: (_, key) => key === 'length' ? asked++ ? 3e8 : 1 : undefined})",
        "{length: 3e8, get [Symbol.iterator]() { return asked++ ? undefined : [].values; }}",
    ],
)
async def test_a_length_without_memory_behind_it_takes_none(session: Session, given: str) -> None:
    outcome = await session.eval(f"let asked = 0; new Uint8Array({given}).length")
    if outcome.error is None:
        assert outcome.text == "0"
    else:
        messages = ("Array buffer allocation failed", "offset is out of bounds")
        assert outcome.error.message in messages


async def test_arrays_are_made_of_what_they_ever_were(session: Session) -> None:
    source = """
    const two = {length: '2.5', 1: 7}, many = new Uint16Array([257, 2]);
    const failure = (call) => { try { call(); } catch (error) { return error.name; } };
    JSON.stringify([
      [...new Uint8Array([1, , '3'])], [...new Uint8Array(two)], [...new Uint8Array(many)],
      [...new Uint8Array(new Set([4, 5]))], [...new Uint8Array(function (a, b) {})],
      [...new Uint8Array(many.buffer, 1, 2)], String(new BigInt64Array([1n])[0]),
      new (class Bytes extends Uint8Array {})([1]).constructor.name,
      failure(() => new BigInt64Array([1])), failure(() => new Uint8Array({[Symbol.iterator]: 1})),
      failure(() => new Uint8Array([Symbol()])), failure(() => new Uint16Array(new ArrayBuffer(3))),
    ])"""
    data = json.loads((await session.eval(source)).text)
    assert data[:6] == [[1, 0, 3], [0, 7], [1, 2], [4, 5], [0, 0], [1, 2]]
    assert data[6:] == ["1", "Bytes", "TypeError", "TypeError", "TypeError", "RangeError"]


async def test_copies_are_of_the_class_that_their_source_names(session: Session) -> None:
    source = """
    class Bytes extends Uint8Array {}
    const own = new Uint8Array(2), b = new Bytes([1, 2, 3]), failures = [];
    const {slice} = ArrayBuffer.prototype;
    for (const call of [() => own.slice.call([]), () => own.map(1), () => slice.call(own)])
      try { call(); } catch (error) { failures.push(error.name); }
    b.constructor = {[Symbol.species]: function () { return own; }};
    const filtered = b.filter((each) => each > 1);
    delete b.constructor;
    JSON.stringify([
      filtered === own, own.join(), b.slice(1) instanceof Bytes, b.map((each) => 2 * each).join(),
      b.slice(-2, 2).join(), b.buffer.slice(1, undefined).byteLength, b.filter(() => false).length,
      slice.name, slice.length, own.map.name, own.map.length, failures,
    ])"""
    data = json.loads((await session.eval(source)).text)
    names = ["slice", 2, "map", 1, ["TypeError"] * 3]
    assert data == [True, "2,3", True, "2,4,6", "2", 2, 0, *names]


async def test_small_buffers_that_are_dropped_cost_nothing() -> None:
    source = f"""
    let bytes = 0;
    for (let i = 0; i < {4 * _MOST}; i++) {{
      kept[i % 100] = new ArrayBuffer(1);
      bytes += kept[i % 100].byteLength + new Uint8Array(1).buffer.byteLength;
    }}
    return bytes"""
    assert await _run(source) == 8 * _MOST


async def test_arrays_that_v8_keeps_in_its_heap_cost_no_buffer() -> None:
    source = f"for (let i = 0; i < {4 * _MOST}; i++) kept.push(new Float32Array(3));"
    assert await _run(source + "return kept.length") == 4 * _MOST


async def test_asking_often_for_a_buffer_costs_one() -> None:
    source = f"""
    const small = new Uint8Array(8);
    for (let i = 0; i < {4 * _MOST}; i++) kept.push(small.buffer, small.subarray(1));
    return kept[0] === small.buffer"""
    assert await _run(source) is True


async def test_addresses_that_resizable_buffers_reserve_count() -> None:
    source = f"""
    const options = {{maxByteLength: 2 ** 22}};
    try {{ for (let i = 0; i < {_MOST}; i++) kept.push(new ArrayBuffer(0, options)); }}
    catch (error) {{ return String(error) + (kept.length < {_MOST // 64}); }}"""
    assert await _run(source) == "RangeError: Array buffer allocation failedtrue"


async def test_a_buffer_cannot_reserve_more_than_the_limit(session: Session) -> None:
    outcome = await session.eval("new ArrayBuffer(0, {maxByteLength: 2 ** 33})")
    assert outcome.error is not None
    assert outcome.error.message == "Array buffer allocation failed"


async def test_lengths_are_read_once_and_as_ever(session: Session) -> None:
    source = """
    let asked = 0;
    const two = {valueOf() { asked++; return 2; }};
    const failure = (call) => { try { call(); } catch (error) { return error.name; } };
    const b = new ArrayBuffer(two, {maxByteLength: 8});
    b.resize(two);
    JSON.stringify([
      asked, b.byteLength, b.maxByteLength, b.resizable, new ArrayBuffer().byteLength,
      new ArrayBuffer(5).transfer().byteLength, new ArrayBuffer(5).transfer('3').byteLength,
      new Uint8Array().length, new Uint8Array(null).length, new Uint8Array('3').length,
      new Uint8Array(2.5).length, new Uint8Array(new ArrayBuffer(8), 4).length,
      new Uint16Array(new Set([1, 2])).length, new Uint8Array(3).subarray(1).length,
      ArrayBuffer.prototype.resize.length, Uint8Array.prototype.with.length,
      failure(() => new ArrayBuffer(-1)), failure(() => new ArrayBuffer(1n)),
      failure(() => new Uint8Array(Symbol())), failure(() => ArrayBuffer(1)),
      failure(() => new ArrayBuffer(9, {maxByteLength: 8})), failure(() => new Uint8Array(-1)),
      failure(() => Object.getPrototypeOf(Uint8Array.prototype).buffer),
      failure(() => Uint8Array.prototype.subarray.call([])),
    ])"""
    data = json.loads((await session.eval(source)).text)
    numbers = [2, 2, 8, True, 0, 5, 3, 0, 0, 3, 2, 4, 2, 2, 1, 2]
    range_error, type_error = "RangeError", "TypeError"
    errors = [range_error, type_error, type_error, type_error, range_error, range_error]
    assert data == [*numbers, *errors, type_error, type_error]
