"""Conversations that earlier code has stored go on, with the eval that waits in them."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from guests import without_restored
from pydantic_ai import DeferredToolResults
from pydantic_ai.messages import ModelMessagesTypeAdapter
from stored_conversations import agent_of

from interpstack_state import MemoryStore

CONVERSATIONS = Path(__file__).with_name("conversations")


@pytest.mark.parametrize("form", sorted(path.stem for path in CONVERSATIONS.iterdir()))
async def test_a_stored_conversation_goes_on(form: str) -> None:
    stored = json.loads((CONVERSATIONS / f"{form}.json").read_text("utf-8"))
    store = MemoryStore()
    for key, state in stored["states"].items():
        store.claim(key, "then", 9)
        store.save(key, "then", base64.b64decode(state["blob"]), 9)
        store.append(key, "then", 0, state["log"])
        store.renew(key, "then", 0)
    done: list[str] = []
    run = await agent_of(store, done).run(
        message_history=ModelMessagesTypeAdapter.validate_python(stored["history"]),
        deferred_tool_results=DeferredToolResults(
            approvals=stored["approvals"], metadata=stored["metadata"]
        ),
    )
    # a kernel that has changed since restores variables from their values, and says so
    assert without_restored(run.output) == '<result>[[10, 20], "paid 41"]</result>'
    assert done == ["pay 41"]
    agent = agent_of(store, done, "[total, names.join(''), String(seen.get('k')), rest].join()")
    run = await agent.run("go", conversation_id="c")
    assert run.output == "<result>41,ab,7,10,20</result>"
