"""The engine protocol, held by V8."""

from __future__ import annotations

import pytest

from interpstack import Engine

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack.testing import EngineProtocolTests


class TestV8Protocol(EngineProtocolTests):
    def make_engine(self) -> Engine:
        from interpstack_v8.engine import V8Engine

        return V8Engine()

    store = "let kept = 41"
    recall = "kept + 1"
    redeclare = "const kept = 1"
    error = "throw new TypeError('broken by the cell')"
    error_name = "TypeError"
    syntax_error = "let = = 1"
    request = "await kit.echo({value: 42})"
    exchange = """
const value = {n: 1, list: [1.5, null, true, "é"], deep: {$: [{}]}};
await kit.echo({value: await kit.echo({value})});
"""
    parallel = """
const parts = await Promise.all([...Array(100).keys()].map((value) => kit.echo({value})));
parts.reduce((a, b) => a + b)
"""
    sequence = """
let done = 0, name = "none";
for (let value = 0; value < 6; value++) {
  try { await kit.echo({value}); done++; } catch (error) { name = error.name; break; }
}
`${done} ${name}`
"""
    calls = "for (const value of [0, 1, 2]) kit.note({value})"
    unawaited = "kit.echo({value: 1}); 'left'"
    after_end = """
let late = "";
const goOn = async () => {
  await kit.echo({value: 1});
  try { await kit.echo({value: 2}); } catch (error) { late = error.message; }
};
goOn(); undefined
"""
    after_end_recall = "late"
    deadlock = "await new Promise(() => {})"
    loop = "for (;;);"
    chance = "Math.random()"
