"""Loops that end early: what the page on engines says of them."""

from __future__ import annotations

from interpstack import InterpreterStack, bridge

_READ = """
var seen = [];
async function* read() {
  try { yield "a"; yield "b"; } finally { await tools.leave(); seen.push("left"); }
}
const lines = read();
for await (const line of lines) break;
"""


async def test_the_finally_block_of_an_async_generator_runs_to_its_end() -> None:
    left: list[str] = []

    @bridge("tools.leave")
    async def leave() -> None:
        left.append("left")

    async with InterpreterStack(bridges=[leave]) as stack, stack.session() as session:
        await session.eval(f"{_READ} seen.push('after')")
        assert left == ["left"]
        assert (await session.eval("seen.sort().join()")).text == "after,left"
        await session.eval(f"{_READ} await lines.return(); seen.push('after')")
        assert (await session.eval("seen.join()")).text == "left,after"


async def test_an_error_at_the_end_of_an_async_iterator_is_lost() -> None:
    @bridge("tools.leave")
    async def leave() -> None:
        raise ValueError("not left")

    async with InterpreterStack(bridges=[leave]) as stack, stack.session() as session:
        for end in ("break", "return 'after'", "continue outer"):
            source = f"""
            async function* read() {{ try {{ yield 1; }} finally {{ throw new Error("lost"); }} }}
            await (async () => {{
              outer: for (const _ of [1]) for await (const line of read()) {end};
              return "after";
            }})();
            """
            outcome = await session.eval(source)
            assert (outcome.text, outcome.notices) == ("after", ())
        outcome = await session.eval(f"{_READ} 'after'")
        assert outcome.text == "after"
        assert "tools.leave (ToolError: not left)" in outcome.notices[0]
