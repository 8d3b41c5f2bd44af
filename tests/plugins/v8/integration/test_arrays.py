"""Array builtins over more indices than V8 can be stopped in are written in JavaScript."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import json

import pytest

from interpstack import InterpreterStack, Limits, Session


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=30, wall_seconds=100, memory_bytes=64 * 2**20, result_chars=200_000)


#: V8's own builtin takes the array, and the other one takes the proxy around an equal array.
_COMPARED = r"""
const found = [];
const told = (key, value) => value === undefined ? 'undefined' : value !== value ? 'NaN'
  : Array.isArray(value) ? {entries: Object.entries(value), length: value.length} : value;
const tell = (name, given, wrap) => {
  const array = ['a', , 3, undefined, , NaN, [1, [2]]], owner = wrap(array);
  try {
    const value = array[name].apply(owner, given);
    return JSON.stringify([value === owner ? 'itself' : value, array], told);
  } catch (error) { return error.name + (error instanceof TypeError || error instanceof RangeError); }
};
const compare = (a, b) => String(b) < String(a) ? -1 : 1;
const calls = {
  at: [[1]], concat: [[[1], 2, {length: 2, 0: 1, [Symbol.isConcatSpreadable]: true}], []],
  copyWithin: [[0, 2], [2, 0, 4], [1, 0, -2], []], every: [[x => x], [1]], fill: [[7], [7, 1, -1], [7, -3]],
  filter: [[x => x], []], flat: [[], [Infinity]], flatMap: [[x => [x, x]], []], forEach: [[x => x], []],
  includes: [[NaN], [undefined], [3, 3], ['a', -7]], indexOf: [[3], [NaN], [undefined], [3, -4], [3, 9]],
  lastIndexOf: [[3], ['a', -7], [3, undefined], [3, -9]], map: [[(x, i) => [x, i]], []],
  reduce: [[(a, x, i) => a + '|' + x + i], [(a, x, i) => a + '|' + x + i, 's'], [(a, x) => a + x, undefined], []],
  reduceRight: [[(a, x, i) => a + '|' + x + i], [(a, x, i) => a + '|' + x + i, 's'], []],
  reverse: [[]], shift: [[]], slice: [[], [1, -1], [-2], [5, 2]], some: [[x => x === 3], []],
  sort: [[], [compare], [5]], splice: [[], [1], [1, 2], [1, 1, 'x', 'y', 'z'], [-2, 1, 'x'], [9, 1, 'x'], [undefined], [0, undefined, 1]],
  toLocaleString: [[]], toReversed: [[]], toSorted: [[], [compare], [5]], toSpliced: [[], [1], [1, 1, 'x', 'y'], [1, 3, 'x']],
  unshift: [[], [1, 2], [1, 2, 3, 4]], with: [[1, 'w'], [-1, 'w'], [9, 'w']],
};
for (const name in calls) for (const given of calls[name]) {
  const [one, other] = [tell(name, given, (array) => array), tell(name, given, (array) => new Proxy(array, {}))];
  if (one !== other) found.push([name, one, other]);
}
JSON.stringify(found)"""


async def test_they_do_what_those_of_v8_do(session: Session) -> None:
    outcome = await session.eval(_COMPARED)
    assert outcome.error is None
    assert json.loads(outcome.text) == []


async def test_items_are_own_properties_of_a_new_array(session: Session) -> None:
    """Whatever stands at their indices in the prototype of all arrays."""
    source = """
    const long = Array(200).fill(0).map((_, i) => [i]);
    Object.defineProperty(Array.prototype, 5, {set() { throw new Error('set'); }, configurable: true});
    const flat = long.flat(), mapped = long.flatMap(x => x), short = [[0], [1], [2], [3], [4], [5]].flat();
    delete Array.prototype[5];
    [flat[5], mapped[5], short[5], flat.length, Object.hasOwn(flat, 5)].join()"""
    assert (await session.eval(source)).text == "5,5,5,200,true"


async def test_they_look_like_those_of_v8(session: Session) -> None:
    source = """
    class A extends Array {}
    const proxy = (value) => new Proxy(value, {});
    JSON.stringify([
      Array.from({length: 3}, (x, i) => i), Array.from(new Set([1, 2])), Array.from(new Map([[1, 2]]), x => x[0]),
      Array.from('a\\u{1f600}').length, Array.from.length, Array.from.name, Array.from.call(() => 1, {length: 1, 0: 2}),
      A.from({length: 1}) instanceof A, A.from([1]) instanceof A, proxy(A.of(1)).map(x => x) instanceof A,
      proxy(A.of(1)).splice(0) instanceof A, A.of(1).concat(2) instanceof A,
      ['copyWithin', 'fill', 'indexOf', 'reduce', 'splice', 'concat'].map(name => [][name].length),
      Object.keys(Array.prototype), String.raw`a${1}\\n`, String.raw({raw: {length: 2, 0: 'x', 1: 'y'}}, 1),
      Math.max.apply(null, {length: 2, 0: 1, 1: 5}), Reflect.construct(Array, {length: 1, 0: 3}).length,
      Reflect.construct(Array, [2], A) instanceof A, (() => { try { Reflect.apply(1) } catch (e) { return e.name } })(),
      (function () { return arguments.length }).apply(null, undefined),
      (() => { try { Array.prototype.map.call(null) } catch (e) { return e.name } })(),
      (() => { try { Array.from(null) } catch (e) { return e.name } })(),
    ])"""
    expected = (
        '[[0,1,2],[1,2],[1],2,1,"from",[2],true,true,true,true,true,[2,1,1,1,2,1],[],"a1\\\\n","x1y",5,3,'
        'true,"TypeError",0,"TypeError","TypeError"]'
    )
    assert (await session.eval(source)).text == expected


_NAMES = (
    "copyWithin", "every", "fill", "filter", "forEach", "includes", "indexOf", "lastIndexOf", "map", "reduce", "reduceRight",
    "reverse", "shift", "slice", "some", "sort", "splice", "toLocaleString", "toReversed", "toSorted", "toSpliced", "unshift", "with",
)  # fmt: skip
_ARGUMENTS = {"copyWithin": "0, 5", "unshift": "1", "splice": "0, 0, 1", "slice": "0, 2 ** 32 - 2"}


@pytest.mark.parametrize("owner", ["{length: 2 ** 32 - 2, 5: 1}", "new Proxy(Array(1e9), {})"])
def test_they_stop(owner: str) -> None:
    """The heap is not abandoned, and each cell ends by its limits."""
    limits = Limits(cpu_seconds=0.05, wall_seconds=100, memory_bytes=64 * 2**20)
    with InterpreterStack("v8", limits=limits) as stack, stack.session() as session:
        for name in _NAMES:
            given = _ARGUMENTS.get(name, "x => x")
            outcome = session.eval_sync(f"Array.prototype.{name}.call({owner}, {given}); 1")
            if outcome.error is not None:
                assert outcome.error.name in ("Timeout", "OutOfMemory", "RangeError", "TypeError")
                assert "abandoned" not in outcome.error.message, name
        assert session.eval_sync("1 + 1").text == "2"


@pytest.mark.parametrize(
    "source",
    [
        "'a'.repeat(2 ** 25).normalize('NFKD')",
        "'a'.repeat(2 ** 28).toUpperCase()",
        "'a'.localeCompare('b'.repeat(2 ** 26))",
        "encodeURIComponent('a'.repeat(2 ** 26))",
        "Reflect.construct(Array, {length: 2 ** 30})",
        "Math.max.apply(null, {length: 2 ** 31})",
        "Math.max.apply(null, Array(2 ** 22))",
    ],
)
async def test_what_makes_much_in_one_piece_is_refused(session: Session, source: str) -> None:
    outcome = await session.eval(f"try {{ {source}; 'made' }} catch (e) {{ e.name }}")
    assert outcome.text == "RangeError"
