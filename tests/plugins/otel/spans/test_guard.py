"""What a guard tells the trace of its eval."""

from __future__ import annotations

from traces import Traces

from interpstack import InterpreterStack, Limits
from interpstack_accounts.api import Account, Budget


async def test_it_knows_which_time_was_up(traces: Traces) -> None:
    code = {
        "cpu_seconds": "for (;;);",
        "wall_seconds": "await new Promise(r => setTimeout(r, 1e5))",
    }
    for kind in code:
        limits = Limits(**{kind: 0.2})  # type: ignore[arg-type]
        async with InterpreterStack(plugins=[traces.plugin], limits=limits).session() as session:
            assert (await session.eval(code[kind])).error is not None
    found = [span.attributes["interpstack.limit.kind"] for span in traces.spans("interpstack.eval")]
    assert found == list(code)
    hits = {
        point["interpstack.limit.kind"]: n for point, n in traces.points("interpstack.limit.hits")
    }
    assert hits == dict.fromkeys(code, 1)


async def test_a_budget_that_is_shorter_is_the_limit(traces: Traces) -> None:
    stack = InterpreterStack(plugins=["accounts", traces.plugin])
    with Account(Budget(cpu_seconds=0.1)).use():
        async with stack.session() as session:
            await session.eval("for (;;);")
            await session.eval("1")  # not begun at all
    kinds = [span.attributes["interpstack.limit.kind"] for span in traces.spans("interpstack.eval")]
    assert kinds == ["budget", "budget"]


async def test_it_limits_nothing(traces: Traces) -> None:
    async with InterpreterStack(plugins=[traces.plugin]).session() as session:
        outcome = await session.eval("let n = 0; for (let i = 0; i < 1e5; i++) n += i; n")
    assert (outcome.text, outcome.usage.crossings) == ("4999950000", 1)
    assert traces.points("interpstack.crossings")[0][1] == 1
