"""A run gets another script only under its lease."""

from __future__ import annotations

import pytest
from workflow_runs import Prompts, runner, script

from interpstack_workflows.errors import LeaseLost, ScriptChanged
from interpstack_workflows.stores.memory import MemoryWorkflowStore


async def test_a_script_is_changed_under_a_lease() -> None:
    store = MemoryWorkflowStore()
    async with runner(Prompts(), store, linger_seconds=0) as one:
        run = await one.run(script("return [await agent('a'), await ask('?')]"))
        changed = script("return [await agent('b'), await ask('?')]")
        with pytest.raises(ScriptChanged, match=r"unused: agent 'a'\. Compare them with diff"):
            await one.resume(run.run_id, source=changed)
        lease = await store.claim(run.run_id, "other", 60.0)
        assert lease is not None
        with pytest.raises(LeaseLost, match="cancel it, then change it"):
            await one.resume(run.run_id, source=changed, accept_changes=True)
        await store.release(lease)
        assert (await one.show(run.run_id)).source != changed
        handle = await one.resume(run.run_id, source=changed, accept_changes=True)
        assert (await handle.rest()).status == "waiting"
        assert (await one.show(run.run_id)).source == changed
