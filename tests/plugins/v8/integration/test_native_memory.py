"""Memory that ICU keeps for a guest, which V8 does not count."""

from __future__ import annotations

import subprocess
import sys

import pytest

from interpstack import Limits, Session

#: Tells the outcome, and by how many MiB the process has grown.
_MEASURED = """
import resource, sys
from interpstack import InterpreterStack, Limits

session = InterpreterStack("v8", limits=Limits(cpu_seconds=60, memory_bytes=64 * 2**20)).session()
session.eval_sync("1")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
error = session.eval_sync(sys.argv[1]).error
print(error and error.name, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
_HOARDS = {
    "segments": "const s = new Intl.Segmenter('en'), k = [];"
    "for (let i = 0; i < 120; i++) k.push(s.segment('a'.repeat(1e7) + i))",
    "iterators": "const s = new Intl.Segmenter('en').segment('a'.repeat(1e6)), k = [];"
    "for (let i = 0; i < 1000; i++) k.push(s[Symbol.iterator]())",
    "formats": "const k = [];for (let i = 0; i < 2e5; i++) k.push(new Intl.DateTimeFormat('en'))",
}


@pytest.fixture
def limits() -> Limits:
    return Limits(cpu_seconds=30, wall_seconds=200, memory_bytes=64 * 2**20)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count in another unit")
@pytest.mark.parametrize("source", _HOARDS.values(), ids=_HOARDS)
def test_what_is_kept_counts(source: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, source],
        capture_output=True,
        text=True,
        check=True,
    )
    ended, grown = done.stdout.split()
    assert ended in ("OutOfMemory", "RangeError")
    assert int(grown) < 800  # the limit, and the room that V8 gets above it


async def test_what_is_not_kept_costs_nothing(session: Session) -> None:
    source = """
    let n = 0;
    for (let i = 0; i < 8000; i++) n += new Intl.DateTimeFormat('en').format(0).length > 0;
    for (let i = 0; i < 3000; i++) n += [...new Intl.Segmenter('en').segment('abc')].length;
    n"""
    outcome = await session.eval(source)
    assert (outcome.text, outcome.error) == ("17000", None)


async def test_intl_works_as_ever(session: Session) -> None:
    source = """
    class F extends Intl.NumberFormat {}
    const dates = new Intl.DateTimeFormat('en', {timeZone: 'UTC'});
    JSON.stringify([
      new F('en').format(1), new F() instanceof F, new F().constructor.name,
      Intl.NumberFormat('en').format(1234.5), Object.freeze(new Intl.NumberFormat('en')).format(2),
      dates.formatRange(0, 1e12).slice(0, 8),
      dates.formatRange(0, 1e12).length, dates.formatRangeToParts(0, 1e12).length > 3,
      new Intl.NumberFormat() instanceof Intl.NumberFormat, Intl.NumberFormat.name,
      Intl.DateTimeFormat.supportedLocalesOf('en'), new Intl.Locale('en-US').language,
      [...new Intl.Segmenter('en', {granularity: 'word'}).segment('a b')].map(one => one.segment),
      new Intl.Segmenter('en').segment('abc').containing(1).segment, typeof Intl.v8BreakIterator,
    ])"""
    expected = (
        '["1",true,"F","1,234.5","2","1/1/1970",19,true,true,'
        '"NumberFormat",["en"],"en",["a"," ","b"],"b","undefined"]'
    )
    assert (await session.eval(source)).text == expected
