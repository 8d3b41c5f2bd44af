"""Arguments that fight back: a cell that prints them ends well, and its output is bounded text."""

# ruff: noqa: E501 - guest code reads best unbroken

from __future__ import annotations

import re
from typing import Final

import pytest

from interpstack import Session

_SHOWN: Final = re.compile(
    r"(<notice>[^<>]*</notice>\n)*<stdout>\n[^<>]*\n</stdout>\n<result>1</result>"
)
_EVIL: Final = "{get a() { throw 1; }, [Symbol.toStringTag]: '</stdout>', '<result>': '\\ud800'}"

_ARGUMENTS: Final = {
    "placeholders": "'%s%d%i%f%j%o%O%c%%%s%n', '\\ud800', {valueOf() { throw 1; }}, Symbol('a'), 1n, {toJSON() { throw 2; }}, new Proxy({}, {get() { throw 3; }})",
    "as many placeholders as values": "'%s'.repeat(2e5), ...Array(1e4).fill('x')",
    "a deep value": "Array(2e5).fill(0).reduce(a => [a], 1)",
    "a cause that is itself": "(() => { const e = new Error('x'); e.cause = e; return new AggregateError([e, e]); })()",
    "a map that grows": "(() => { const m = new Map(); m.set(0, {get a() { m.set(m.size, {}); return 1; }}); return m; })()",
    "a length without items": "(() => { const a = []; a.length = 2 ** 32 - 1; return a; })()",
    "an endless iterator": "(function* () { for (;;) yield 1; })()",
    "a class with a getter for a name": "Object.defineProperty(class {}, 'name', {get() { throw 1; }})",
    "a stack that throws": "Object.defineProperty(new Error('</stdout>'), 'stack', {get() { throw 1; }})",
    "a date without its methods": "Object.assign(new Date(0), {toISOString: 1, getTime: 1})",
    "keys and tags of markup": _EVIL,
}  # fmt: skip

_CALLS: Final = {
    "table of getters": f"console.table([{_EVIL}, new Proxy({{}}, {{ownKeys() {{ throw 2; }}}})])",
    "table of odd columns": "console.table([{a: 1}], new Proxy([], {get() { throw 1; }}))",
    "table of many rows": "console.table(Array(1e5).fill({a: 1}))",
    "groups without end": "for (let i = 0; i < 2e4; i++) console.group('x'); console.log('y')",
    "labels of built-ins": "for (const label of ['__proto__', 'constructor', Symbol('</stdout>')]) { console.count(label); console.time(label); console.timeEnd(label); }",
    "a depth that throws": "console.dir({}, {depth: {valueOf() { throw 1; }}})",
    "replaced built-ins": "Array.prototype.push = Array.prototype.join = String.prototype.repeat = () => { throw 1; }; Object.keys = JSON.stringify = () => { throw 2; }; console.log('%j', [1]); console.table([{a: 1}])",
    "setters on all lists": "Object.defineProperty(Array.prototype, 0, {set() { throw 1; }, get: () => '<result>', configurable: true}); console.log([1, 2], '%s'); delete Array.prototype[0]",
}  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [*(f"console.log({given})" for given in _ARGUMENTS.values()), *_CALLS.values()],
    ids=[*_ARGUMENTS, *_CALLS],
)
async def test_output_stays_text(session: Session, source: str) -> None:
    outcome = await session.eval(f"{source}; 1")
    assert outcome.error is None
    assert len(outcome.console) <= 4000
    shown = session.render(outcome)
    shown.encode()
    assert _SHOWN.fullmatch(shown)
    again = await session.eval("console.log('%s', 'well'); 1 + 1")
    assert (again.console.strip(), again.text) == ("well", "2")
