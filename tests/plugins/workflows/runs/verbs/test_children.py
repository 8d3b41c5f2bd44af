"""Child workflows: concurrent, bounded, and never in a circle."""

from __future__ import annotations

import asyncio
from pathlib import Path

from workflow_runs import MemoryRuns, Prompts, runner, script, until


async def test_children_run_at_once() -> None:
    meeting = asyncio.Barrier(3)

    async def agent(prompt: str) -> str:
        await meeting.wait()
        return prompt

    kid = {"kid": script("return agent('p' + args)", "kid")}
    async with runner(agent, workflows=kid) as one:
        kids = "() => workflow('kid', 1), () => workflow('kid', 2)"
        body = f"return parallel([{kids}, () => agent('p')])"
        assert (await one.run(script(body))).result == ["p1", "p2", "p"]


async def test_circles_and_depth_are_refused_by_the_chain_of_names() -> None:
    known = {
        "a": script("return workflow('b')", "a"),
        "b": script("return workflow('a')", "b"),
        "deep": script("return args < 9 ? workflow('deep' + args, args + 1) : 0", "deep"),
        "c1": script("return workflow('c2')", "c1"),
        "c2": script("return workflow('c3')", "c2"),
        "c3": script("return 3", "c3"),
    }
    async with runner(Prompts(), workflows=known, max_depth=3) as one:
        circle = await one.run("a")
        assert circle.error is not None
        assert circle.error["name"] == "WorkflowCycle"
        assert "a → b → a" in circle.error["message"]
        assert (await one.run("c1")).result == 3
        deep = await one.run(script("return workflow('c1')"))
        assert deep.error is not None
        assert deep.error["name"] == "WorkflowDepth"
        assert "nested 3 deep: tested → c1 → c2 → c3" in deep.error["message"]


async def test_an_unknown_child_lists_the_known_ones_and_escapes_parallel() -> None:
    async with runner(Prompts(), workflows={"kid": script("return 1", "kid")}) as one:
        result = await one.run(script("return parallel([() => workflow('kidd')])"))
    assert result.error is not None
    assert result.error["message"] == (
        "Unknown workflow: kidd; did you mean 'kid'? Known workflows: kid"
    )


async def test_a_path_is_relative_to_the_caller(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    root, kid = tmp_path / "root.js", tmp_path / "inner" / "kid.js"
    root.write_text(script("return workflow({scriptPath: './inner/kid.js'}, 2)"), "utf-8")
    kid.write_text(script("return [args, await agent('k')]", "kid"), "utf-8")
    async with runner(Prompts()) as one:
        assert (await one.run(root)).result == [2, "echo: k"]
        root.write_text(script("return workflow({scriptPath: '../x.js'})"), "utf-8")
        outside = await one.run(root)
    assert outside.error is not None
    assert "outside the allowed folders" in outside.error["message"]


async def test_a_child_goes_on_with_the_script_that_it_began_with(tmp_path: Path) -> None:
    (tmp_path / "kid.js").write_text(script("await agent('k'); return ask('?')", "kid"), "utf-8")
    store, agent = MemoryRuns(), Prompts()
    async with runner(agent, store, workflows=[tmp_path], linger_seconds=0) as one:
        asked = await one.run(script("return workflow('kid')"))
        (tmp_path / "kid.js").write_text(script("return agent('other')", "kid"), "utf-8")
        await one.answer(asked.run_id, asked.waiting_for[0]["id"], "yes")
        handle = await one.resume(asked.run_id)
        assert (await handle.result()).result == "yes"
    assert agent.called == ["k"]


async def test_the_error_of_a_child_keeps_its_properties() -> None:
    kid = script(
        "if (args) throw Object.assign(new RangeError('far', {cause: new Error('why')}), args);"
        "for (let i = 0; i < 3; i++) await agent('k' + i)",
        "kid",
    )
    tried = "const error = await workflow('kid', args).catch((error) => error); return error"
    async with runner(Prompts(), workflows={"kid": kid}) as one:
        over = await one.run(script(tried), budgets={"kid": {"agents": 2}})
        own = await one.run(script(tried), {"status": 402, "$workflow": [1], "deep": {"a": [1]}})
    assert over.result["name"] == "BudgetExceeded"
    shown = {key: over.result[key] for key in ("budget", "kind", "limit", "spent", "reserved")}
    assert shown == {"budget": "'kid'", "kind": "agents", "limit": 2, "spent": 2, "reserved": 0}
    assert own.result == {
        "name": "RangeError",
        "message": "far",
        "status": 402,
        "deep": {"a": [1]},
        "cause": {"name": "Error", "message": "why"},
    }


async def test_properties_that_json_cannot_take_are_left_out_of_the_error_of_a_child() -> None:
    kid = script(
        "const error = new Error('own', {cause: 1}); error.cause = error;"
        "error.big = 'x'.repeat(2e5); error.ok = new Map([['a', 1]]);"
        "const get = () => { if (args) throw 1; return 5n };"
        "Object.defineProperty(error, 'bad', {enumerable: true, get}); throw error",
        "kid",
    )
    tried = "const e = (n) => workflow('kid', n).catch((e) => e); return [await e(0), await e(1)]"
    async with runner(Prompts(), workflows={"kid": kid}) as one:
        result = await one.run(script(tried))
    named = {"name": "Error", "message": "own"}
    assert result.result == [{**named, "ok": {"a": 1}, "bad": "5n"}, named]


async def test_a_child_without_metadata_fails() -> None:
    async with runner(Prompts(), workflows={"kid": "export default 1"}) as one:
        result = await one.run(script("return workflow('kid').catch(error => error.name)"))
    assert result.result == "MetadataError"


async def test_a_cancelled_child_is_not_recorded_as_failed() -> None:
    store, agent = MemoryRuns(), Prompts()
    kid = {"kid": script("await agent('k'); return agent(args)", "kid")}
    async with runner(agent, store, workflows=kid) as one:
        handle = await one.start(script("return workflow('kid', 'for ever')"))
        await until(lambda: len(agent.called) == 2)
        await one.cancel(handle.run_id)
        await handle.result()
        entries = await store.entries(handle.run_id)
        assert all(step.ok for entry in entries for step in entry.settled)
