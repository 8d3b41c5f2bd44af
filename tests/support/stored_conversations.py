"""A conversation of a PydanticAI agent with an eval that waits; run as a script, it is stored.

`python tests/support/stored_conversations.py FILE` writes the form of the code as it stands. A file
that is checked in is never written again: it shows what earlier code left behind.
"""

from __future__ import annotations

import asyncio
import json
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai_scripts import Script

from interpstack_pydantic_ai import CodeInterpreter, answers, questions
from interpstack_state import MemoryStore

__all__ = ["KEY", "agent_of"]

#: Signs the variables.
KEY = b"a key of this test, 32 bytes long"
_STEPS = (
    "const total = 41; const names = ['a', 'b']; const seen = new Map([['k', 7n]])",
    "const rest = await Promise.all([tools.look({n: 1}), tools.look({n: 2})]);"
    "[rest, await tools.pay({amount: total})]",
)


def agent_of(store: MemoryStore, done: list[str], *steps: str) -> Agent[Any, Any]:
    """An agent with two tools that note what they did; one needs an approval."""
    agent: Agent[Any, Any] = Agent(
        Script(*steps).model,
        output_type=[str, DeferredToolRequests],
        capabilities=[CodeInterpreter(store=store, snapshot_signing_key=KEY)],
    )

    @agent.tool_plain
    def look(n: int) -> int:
        done.append(f"look {n}")
        return 10 * n

    @agent.tool_plain(requires_approval=True)
    def pay(amount: int) -> str:
        done.append(f"pay {amount}")
        return f"paid {amount}"

    return agent


async def _stored() -> dict[str, Any]:
    store = MemoryStore()
    run = await agent_of(store, [], *_STEPS).run("go", conversation_id="c")
    (question,) = questions(run.output)
    given = answers(run.output, {question.id: True})
    states = {}
    for blob in list(store.blobs()):
        state = store.read(blob.key)
        data = b"" if state is None else state.data
        states[blob.key] = {"blob": b64encode(data).decode(), "log": list(store.log(blob.key))}
    return {
        "states": states,
        "history": json.loads(run.all_messages_json()),
        "approvals": given.approvals,
        "metadata": given.metadata,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(asyncio.run(_stored()), indent=1) + "\n")
