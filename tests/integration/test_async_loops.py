"""`for await` loops end their iterators, and wait for that, on every engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import Bridge, InterpreterStack, ModuleBundle, hookimpl
from interpstack.contracts.modules import ModuleLoader

#: An async generator that logs its end, and may throw in it.
_MADE = """
const log = [];
async function* made(name, fails) {
  try { yield 1; yield 2 } finally { await 0; log.push(name); if (fails) throw new Error(name) }
}
"""
#: What a loop does with its first value, and what the code around it sees.
_PROGRAMS = {
    "for await (const x of made('a')) break; log.push('after'); log": '["a", "after"]',
    "for await (const x of made('a', 1)) break": "Error: a",
    "let m; try { for await (const x of made('a', 1)) break } catch (e) { m = e.message } m": "a",
    "const f = async () => { for await (const x of made('a')) return x }; [await f(), log]": (
        '[1, ["a"]]'
    ),
    "const f = async () => { for await (const x of made('a', 1)) return x }; await f()": "Error: a",
    "let m; try { for await (const x of made('a', 1)) throw new Error('body') }"
    " catch (e) { m = e.message } [m, log]": '["body", ["a"]]',
    "o: for await (const x of made('a')) for await (const y of made('b')) continue o; log": (
        '["b", "b", "a"]'
    ),
    "o: for await (const x of made('a')) { for await (const y of made('b')) break o } log": (
        '["b", "a"]'
    ),
    "async function* pass() { for await (const x of made('a')) yield x }"
    " for await (const x of pass()) break; log.push('after'); log": '["a", "after"]',
    "class A { static async f() { for await (const { x = made } of made('a')) break } }"
    " await A.f(); log": '["a"]',
    "for await (const x of made('a')) log.push(x); log": '[1, 2, "a"]',
    "let n = 0; for await (const x of made('a')) n += x": "3",
    "if (log) for await (const x of [1, 2]) x * 2": "4",
    "label: for await (const x of [1, 2]) { if (x == 1) continue label; x + 40 }": "42",
    "for await (const x of (function* () { try { yield Promise.resolve(7) } finally"
    " { log.push('s') } })()) { log.push(x); break } log": '[7, "s"]',
    "for await (const x of (function* () { try { yield 7 } finally { throw new Error('s') } })())"
    " break": "Error: s",
    "function* g() { try { yield Promise.reject(new Error('x')) } finally { log.push('s') } }"
    " try { for await (const x of g()) ; } catch (e) { log.push(e.message) } log": '["s", "x"]',
    "function* g() { try { yield Promise.reject(new Error('x')) }"
    " finally { throw new Error('s') } } for await (const x of g()) ;": "Error: x",
    "const one = {[Symbol.iterator]: () => ({next: () => ({value: Promise.reject(new Error('x')),"
    " done: true}), return() { log.push('r') }})};"
    " try { for await (const x of one) ; } catch (e) { log.push(e.message) } log": '["x"]',
    "const one = {[Symbol.iterator]: () => ({next: () => ({value: 1, done: false})})};"
    " for await (const x of one) break; 'no return'": "no return",
    "const one = {[Symbol.iterator]: () => ({next: () => 5})}; for await (const x of one) ;": (
        "TypeError"
    ),
    "const one = {[Symbol.iterator]: () => ({next: () => ({value: 1, done: false}),"
    " return: () => 5})}; for await (const x of one) break": "TypeError",
    "const one = {[Symbol.asyncIterator]: () => ({async next() { throw new Error('x') },"
    " return() { log.push('r') }})};"
    " try { for await (const x of one) ; } catch (e) { log.push(e.message) } log": '["x"]',
    "const one = {[Symbol.asyncIterator]: () => ({next() { throw new Error('x') },"
    " return() { log.push('r') }})};"
    " try { for await (const x of one) ; } catch (e) { log.push(e.message) } log": '["x"]',
    "let s = ''; for await (const x of 'ab') s += x; s": "ab",
    "const order = []; Promise.resolve().then(() => order.push(1)).then(() => order.push(2))"
    ".then(() => order.push(3)).then(() => order.push(4)).then(() => order.push(5));"
    " for await (const x of new Set(['a', 'b'])) order.push(x); order.join('')": "12a34b5",
    "const one = {[Symbol.asyncIterator]: () => ({next: async () => ({value: 1, done: false}),"
    " return: async () => 5})}; for await (const x of one) break": "TypeError",
    "const one = {[Symbol.asyncIterator]: () => ({next: async () => ({value: 1, done: false}),"
    " return() { throw new Error('now') }})}; for await (const x of one) break": "Error: now",
    "const one = {[Symbol.asyncIterator]: () => ({next: async () => ({value: 1, done: false})})};"
    " for await (const x of one) break; 'no return'": "no return",
    "async function* f() { let o = {}; for await (o[yield 1] of [5]) yield o.k }"
    " const i = f(); [(await i.next()).value, (await i.next('k')).value]": "[1, 5]",
    "for await (const x of null) ;": "TypeError",
    "for await (const x of 5) ;": "TypeError",
    "for await (const x of {[Symbol.asyncIterator]: () => 5}) ;": "TypeError",
    "let $loop1 = 3; for await (const x of made('a')) { log.push($loop1); break } log": '[3, "a"]',
}


def _end(stack: InterpreterStack, source: str) -> str:
    with stack.session() as session:
        outcome = session.eval_sync(source)
    if outcome.error is None:
        return outcome.text
    error = outcome.error
    return error.name if error.name == "TypeError" else f"{error.name}: {error.message}"


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
def test_a_loop_that_ends_early_waits_for_its_iterator(engine: str) -> None:
    with InterpreterStack(engine) as stack:
        ends = {source: _end(stack, _MADE + source) for source in _PROGRAMS}
    assert ends == _PROGRAMS


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
def test_calls_of_a_closing_iterator_come_before_those_behind_the_loop(engine: str) -> None:
    made: list[str] = []

    async def call(name: str) -> None:
        made.append(name)

    source = """
    async function* rows() { try { yield 1 } finally { await host.call({name: "close"}) } }
    for await (const row of rows()) break;
    await host.call({name: "after"})
    """
    bridge = Bridge(name="host.call", handler=call)
    with InterpreterStack(engine, bridges=[bridge]) as stack, stack.session() as session:
        assert session.eval_sync(source).ok
    assert made == ["close", "after"]


class _Modules:
    """A plugin with one module."""

    def __init__(self, source: str) -> None:
        self._bundle = ModuleBundle("m.mjs", {"m.mjs": source})

    @hookimpl
    def interpstack_resolve_module(self, specifier: str) -> ModuleLoader:
        async def load() -> ModuleBundle:
            return self._bundle

        return load


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
def test_loops_of_modules_wait_too(engine: str) -> None:
    loop = "for await (const x of made('a')) break"
    module = _Modules(f"{_MADE} export async function f() {{ {loop}; return log }}")
    with InterpreterStack(engine, plugins=[module]) as stack, stack.session() as session:
        outcome = session.eval_sync("import { f } from 'm'; (await f()).join()")
    assert (outcome.error, outcome.text) == (None, "a")


#: What loops do, nested, with how their generators end.
_BODIES = ["break", "break l0", "continue l0", "throw new Error('t')", "x", "return x", "yield x"]


@pytest.fixture(scope="module")
def two_stacks() -> Iterator[list[InterpreterStack]]:
    with InterpreterStack("quickjs") as one, InterpreterStack("v8") as other:
        yield [one, other]


@settings(max_examples=60)
@given(loops=st.lists(st.tuples(st.sampled_from(_BODIES), st.booleans()), min_size=1, max_size=3))
def test_nested_loops_end_as_in_v8(
    two_stacks: list[InterpreterStack], loops: list[tuple[str, bool]]
) -> None:
    heads = "".join(
        f"l{depth}: for await (const x of made('{depth}', {int(fails)})) {{ log.push(x); "
        for depth, (_, fails) in enumerate(loops)
    )
    tails = "".join(
        f"if (x == {1 + at % 2}) {{ {body} }} }} " for at, (body, _) in enumerate(loops)
    )
    source = (
        f"{_MADE} async function* all() {{ {heads}{tails} }}"
        " try { for await (const x of all()) log.push('got ' + x) }"
        " catch (e) { log.push(e.message) } log.join()"
    )
    ends = [_end(stack, source) for stack in two_stacks]
    assert ends[0] == ends[1]
