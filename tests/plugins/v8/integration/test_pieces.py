"""Builtins that make too many pieces at once: V8 would end the process, so they are refused."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import pytest

from interpstack import Limits, Session


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=30, wall_seconds=200, memory_bytes=64 * 2**20)


@pytest.mark.parametrize(
    "source",
    [
        "'a'.repeat(2 ** 28).match(/a/g)",
        "'a'.repeat(2 ** 28).replace(/a/g, '$&b')",
        "'a'.repeat(2 ** 28).replace(/a/g, () => 'b')",
        "'a'.repeat(2 ** 28).replaceAll(/a/g, 'b')",
        "/a/[Symbol.split]('a'.repeat(2 ** 28))",
        "/a/g[Symbol.match]({toString: () => 'a'.repeat(2 ** 28)})",
        "JSON.parse('[' + '1,'.repeat(1.4e8) + '1]')",
    ],
)
async def test_the_process_goes_on(session: Session, source: str) -> None:
    outcome = await session.eval(f"try {{ {source}; 'made' }} catch (e) {{ e.name }}")
    # The long text itself may already be more than the guest may have.
    assert outcome.text == "RangeError" or (outcome.error and outcome.error.name == "OutOfMemory")
    assert (await session.eval("1 + 1")).text == "2"


@pytest.mark.parametrize(
    "source",
    [
        "'a'.repeat(2 ** 25).match(/a/g)",
        "'a'.repeat(2 ** 25).replaceAll('a', 'b')",
        "'a'.repeat(2 ** 16).replace(RegExp('()'.repeat(1000), 'g'), () => '')",
        "'a'.repeat(2 ** 16).replace(/a/g, '$&'.repeat(1000))",
        "'a'.repeat(2 ** 16).split(RegExp('()'.repeat(1000)))",
        "class R extends RegExp { exec() { return ['x'] } }; new R('a', 'g')[Symbol.match]('x')",
        "RegExp.prototype.exec = () => ['x']; 'x'.match(/x/g)",
        "Object.defineProperty(RegExp.prototype, 'flags', {get: () => 'g'}); 'x'.match(/x/)",
        "Object.defineProperty(RegExp.prototype, 'global', {get: () => true}); 'x'.match(/x/)",
        "const r = /x/; r.exec = () => ({length: 2 ** 40, index: 0, 0: 'x'}); 'x'.replace(r, '')",
        "const own = {lastIndex: 1, exec() { this.lastIndex = 1; return {length: 2 ** 30} }};"
        "class R extends RegExp { static [Symbol.species] = function () { return own } };"
        "'abc'.split(new R('b'))",
    ],
)
async def test_pieces_are_counted_however_they_come_about(session: Session, source: str) -> None:
    outcome = await session.eval(f"try {{ {source}; 'made' }} catch (e) {{ e.name }}")
    assert outcome.text == "RangeError"


async def test_texts_are_searched_as_ever(session: Session) -> None:
    source = r"""
    class R extends RegExp {}
    JSON.stringify([
      'a,b,c'.split(/,/), 'a,b,c'.split(/(,)/, 2), 'a,b'.split(new R(',')), 'ab'.split(/(?:)/u),
      'aXbX'.replace(/x/gi, '$&$&'), 'aX'.replace(new R('X', 'g'), '-'),
      'abc'.replace(/(?:)/g, '-'),
      'x'.replace(/(?<n>x)/, '[$<n>]'), 'x'.replace(new R('(?<n>x)'), '[$<n>]'),
      'abc'.replace(/b/, (...given) => given.length), 'aa'.replaceAll('a', '$&b'),
      'aa'.replaceAll(/a/g, 'c'),
      'abc'.match(/./g), 'abc'.match(/b/).index, 'abc'.match(new R('b')).index, 'x'.match(/y/g),
      [...'a1b2'.matchAll(/\d/g)].length, 'ab'.repeat(1e6).replace(/a/g, '').length,
      RegExp.prototype[Symbol.match].length, RegExp.prototype[Symbol.replace].name,
      (() => { try { /a/[Symbol.split](Symbol()) } catch (e) { return e.name } })(),
    ])"""
    expected = (
        '[["a","b","c"],["a",","],["a","b"],["a","b"],"aXXbXX","a-","-a-b-c-","[x]","[x]","a3c",'
        '"abab","cc",["a","b","c"],1,1,null,2,1000000,1,"[Symbol.replace]","TypeError"]'
    )
    assert (await session.eval(source)).text == expected


async def test_arrays_are_flattened_as_ever(session: Session) -> None:
    source = """
    class A extends Array {}
    JSON.stringify([
      [1, [2, [3]]].flat(), [1, [2, [3]]].flat(Infinity), [[1]].flat(0), [1, , [2, , 3]].flat(),
      [1, 2].flatMap(x => [x, [x]]),
      [3].flatMap(function (x, at, all) { return [this.y, at, all.length] }, {y: 4}),
      A.of(1, [2]).flat() instanceof A, Array.prototype.flat.call({length: 2, 0: [1], 1: 2}),
      Array.prototype.flat.length, Array.prototype.flatMap.length,
      JSON.parse('[1,{"a":2}]', (k, v) => v),
      (() => { try { [].flatMap() } catch (e) { return e.name } })(),
      (() => { try { Array.prototype.flat.call(null) } catch (e) { return e.name } })(),
    ])"""
    expected = (
        "[[1,2,[3]],[1,2,3],[[1]],[1,2,3],[1,[1],2,[2]],[4,0,1],true,[1,2],0,1,"
        '[1,{"a":2}],"TypeError","TypeError"]'
    )
    assert (await session.eval(source)).text == expected


#: Texts that are too long for V8's own search, with the answers that it gives nevertheless.
_SEARCHED = r"""
const text = 'ab'.repeat(40000) + 'c' + 'ab'.repeat(40000), part = 'ab'.repeat(20000) + 'c' + 'ab'.repeat(10);
const even = 'b' + 'ab'.repeat(29999), found = [];
for (const from of [undefined, 0, 40000, 40001, -5, NaN, Infinity])
  found.push(text.indexOf(part, from), text.includes(part, from), text.lastIndexOf(part, from));
for (const from of [undefined, 0, 1, 30001, 100000])
  found.push(text.indexOf(even, from), text.includes(even, from), text.lastIndexOf(even, from));
found.push(text.indexOf(text), text.lastIndexOf(text), text.indexOf(text + 'x'), text.lastIndexOf(text + 'x'));
found.join()"""


async def test_long_texts_are_found_where_v8_finds_them(session: Session) -> None:
    expected = (
        "40000,true,40000,40000,true,-1,40000,true,40000,-1,false,40000,40000,true,-1,"
        "40000,true,40000,-1,false,40000,"
        "1,true,100002,1,true,-1,1,true,1,80002,true,20001,100000,true,100000,"
        "0,0,-1,-1"
    )
    assert (await session.eval(_SEARCHED)).text == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'abcabc'.lastIndexOf('a', 2) + 'abc'.indexOf('', 9) + 'abc'.lastIndexOf('')", "6"),
        ("'null1'.indexOf(null) + ' ' + '1'.includes(1)", "0 true"),
        ("'a1b'.replace(1, 'x') + 'abc'.replace('b', m => m + m)", "axbabbc"),
        (
            "'q'.replace({[Symbol.replace]: s => s + '!'}) + 'x'.replace({toString: () => 'x'}, 'y')",
            "q!y",
        ),
        ("try { 'a'.includes(/a/) } catch (e) { e.name }", "TypeError"),
        ("try { String.prototype.indexOf.call(null, 'a') } catch (e) { e.name }", "TypeError"),
        (
            "[''.indexOf.length, ''.replace.length, ''.split.length, ''.includes.name].join()",
            "1,2,2,includes",
        ),
        ("[1, [2, [3, null]], undefined].join(';') + [3, , 1].sort().join()", "1;2,3,;1,3,"),
        ("(() => { const a = [1]; a.push(a); return a.join() })()", "1,"),
        ("[10, 9, 'b', undefined, 'a'].sort().join() + [2, 10].toSorted()", "10,9,a,b,10,2"),
        (
            "const long = 'a'.repeat(2 ** 25); [long + 'b', long, 1].sort().map(t => `${t}`.length).join()",
            "1,33554432,33554433",
        ),
    ],
)
async def test_texts_and_lists_are_treated_as_by_v8(
    session: Session, source: str, expected: str
) -> None:
    outcome = await session.eval(source)
    assert (outcome.error, outcome.text) == (None, expected)
