"""Values that are too long for their reader are cut by structure."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from engines import OnEngine
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import InterpreterStack, Limits, Outcome

pytestmark = pytest.mark.engines("javascript")


async def _shown(engine: str, code: str, chars: int = 200) -> tuple[Outcome, str]:
    async with (
        InterpreterStack(engine, limits=Limits(result_chars=chars)) as stack,
        stack.session() as session,
    ):
        outcome = await session.eval(code)
        return outcome, session.render(outcome).removeprefix("<result>").removesuffix("</result>")


@pytest.mark.parametrize(
    ("code", "start", "inside", "end"),
    [
        ("Array.from({length: 3000}, (_, i) => i)", "[0, 1, 2, ", " more items …, ", "2998, 2999]"),
        ("new Uint8Array(3000)", "Uint8Array(3000) [0, 0, ", " more items …, ", "0]"),
        ("({a: Array(500).fill('x'), b: 2})", '{a: ["x", "x", ', " more items …, ", "], b: 2}"),
        ("({a: 'y'.repeat(900), b: 2})", '{a: "yyy', '"… ', " more characters, b: 2}"),
        ("new Map(Array.from({length: 300}, (_, i) => [i, i]))", "Map(300) {0 =&gt; 0, ", "… ",
         " more entries}"),
        ("new Set(Array.from({length: 300}, (_, i) => i))", "Set(300) {0, 1, ", "… ",
         " more items}"),
        ("Object.fromEntries(Array.from({length: 99}, (_, i) => ['k' + i, i]))", "{k0: 0, k1: 1, ",
         "… ", " more keys}"),
        ("Array.from({length: 99}, (_, i) => ({id: i, text: 'lorem '.repeat(99)}))",
         '[{id: 0, text: "lorem ', " more characters}, … ", "}]"),
        ("[[[[[['z'.repeat(300)]]]]]]", '[[[[[["zzz', "… ", " more characters]]]]]]"),
        ("[1, , ...Array(500).fill(3)]", "[1, &lt;1 empty item&gt;, 3, ", " more items …, ", "3]"),
        ("[...Array(99).keys(), {last: 'x'.repeat(70)}]", "[0, 1, ", "more items …, ", "}]"),
    ],
)  # fmt: skip
async def test_what_is_left_out_is_counted_where_it_was(
    on_engine: OnEngine, code: str, start: str, inside: str, end: str
) -> None:
    outcome, text = await _shown(on_engine.name, code)
    assert text.startswith(start)
    assert inside in text
    assert text.endswith(end)
    assert 100 < len(outcome.text) <= 200
    assert outcome.omitted_chars == 0


async def test_all_items_are_shown_or_counted(on_engine: OnEngine) -> None:
    _, text = await _shown(on_engine.name, "Array.from({length: 1000}, (_, i) => i)")
    found = re.fullmatch(r"\[(.*), … (\d+) more items …, (.*)\]", text)
    assert found is not None
    first, last = (list(map(int, found[part].split(", "))) for part in (1, 3))
    assert first == list(range(len(first)))
    assert last == list(range(1000 - len(last), 1000))
    assert len(first) + int(found[2]) + len(last) == 1000


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (
            "Array.from({length: 300}, (_, i) => ({id: i}))",
            {"first": {"id": 0}, "last": {"id": 299}},
        ),
        ("Array.from({length: 300}, (_, i) => 'x'.repeat(i))", {"first": ""}),
    ],
)
@pytest.mark.parametrize("indent", ["", ", null, 2"])
async def test_json_stays_json(
    on_engine: OnEngine, value: str, kept: dict[str, Any], indent: str
) -> None:
    _, text = await _shown(on_engine.name, f"JSON.stringify({value}{indent})")
    read = json.loads(text)
    assert len(text) <= 200
    assert text.startswith("[\n  ") == bool(indent)
    assert read[0] == kept["first"]
    assert read[-1] == kept.get("last", read[-1])
    assert sum("more items …" in one for one in read if isinstance(one, str)) == 1


async def test_a_json_object_says_how_many_keys_are_left_out(on_engine: OnEngine) -> None:
    code = "JSON.stringify(Object.fromEntries(Array.from({length: 99}, (_, i) => ['k' + i, i])))"
    read = json.loads((await _shown(on_engine.name, code))[1])
    assert read["k0"] == 0
    assert read["…"] == f"… {99 - (len(read) - 1)} more keys"


@pytest.mark.parametrize(
    ("code", "start"),
    [
        ("'x'.repeat(300)", "x" * 200 + "… [truncated 100 chars]"),
        ("'[' + 'x'.repeat(300)", "[" + "x" * 199 + "… [truncated 101 chars]"),
        ("'[1, 2'.padEnd(300)", "[1, 2"),
    ],
)
async def test_other_texts_are_cut_at_their_end(on_engine: OnEngine, code: str, start: str) -> None:
    assert (await _shown(on_engine.name, code))[1].startswith(start)


async def test_getters_run_at_most_once(on_engine: OnEngine) -> None:
    code = (
        "var ran = 0; var o = {get a() { ran++; return 'x'.repeat(300) }, b: 'y'.repeat(300)};"
        "var more = [o]; more"
    )
    async with (
        InterpreterStack(on_engine.name, limits=Limits(result_chars=200)) as stack,
        stack.session() as session,
    ):
        text = (await session.eval(code)).text
        assert text.startswith('[{a: [Getter], b: "yyy')
        assert (await session.eval("ran")).text == "1"


@pytest.mark.parametrize(
    "code",
    [
        "new Proxy(Array(500).fill('x'.repeat(50)), {get() { throw 1 }})",
        "new Proxy(Array.from({length: 500}, () => new Proxy({a: 'x'.repeat(50)}, {})), {})",
        "Array.prototype.toJSON = () => 7; JSON.stringify = 1; ['x'.repeat(500)]",
        "var l = Array(500).fill('x');"
        "Object.defineProperty(Array.prototype, '0', {get() { throw 1 }}); l",
        "var l = Array(500).fill('x'); l[499] = l; l",
        "var a = []; for (let i = 0; i < 1e4; i++) a = [a, 'x'.repeat(50)]; a",
        "Array.from({length: 300}, (_, i) => Symbol('s' + i))",
        "var o = {}; for (let i = 0; i < 2e5; i++) o['key' + i] = i; o",
        "({[`${'k'.repeat(5000)}`]: 1})",
        "var l = []; l.length = 4294967295; l[4294967294] = 'x'.repeat(500); l",
        "'{\"__proto__\": [' + Array(300).fill(1) + ']}'",
    ],
)
async def test_hostile_values_are_bounded(on_engine: OnEngine, code: str) -> None:
    outcome, text = await _shown(on_engine.name, code)
    assert outcome.ok
    assert 0 < len(text) < 600
    assert outcome.usage.cpu_seconds < 3


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=60,
)


def test_any_json_fits_or_is_cut_as_a_text(on_engine: OnEngine) -> None:
    @settings(deadline=None, max_examples=60)
    @given(value=_json)
    def holds(value: Any) -> None:
        outcome = session.eval_sync(f"JSON.stringify({json.dumps(value)})")
        whole = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        if len(whole.encode("utf-16-le")) <= 2 * chars:
            assert json.loads(outcome.text) == value
        elif isinstance(value, (list, dict)) and len(outcome.text) <= chars:
            assert isinstance(json.loads(outcome.text), type(value))
        elif not outcome.omitted_chars:  # a few long keys: the host cuts it
            assert json.loads(outcome.text) == value

    chars = 90
    limits = Limits(result_chars=chars)
    with InterpreterStack(on_engine.name, limits=limits) as stack, stack.session() as session:
        holds()
