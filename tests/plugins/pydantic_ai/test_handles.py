"""Values that stay with the host, with agents of PydanticAI."""

from __future__ import annotations

from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, Tool, ToolApproved
from pydantic_ai_scripts import Make, Script

from interpstack_handles.api import Handles
from interpstack_pydantic_ai import answers, questions
from interpstack_state import MemoryStore, SQLiteStore

ROWS = [{"id": number, "text": f"row {number}"} for number in range(2000)]


def agent_of(posted: list[Any], interpreter: Any, *steps: str) -> Agent[Any, Any]:
    def query() -> list[dict[str, Any]]:
        return ROWS

    def post(rows: list[Any], note: str) -> str:
        posted.append(rows)
        return f"posted {len(rows)} {note}"

    return Agent(
        Script(*steps).model,
        output_type=[str, DeferredToolRequests],
        capabilities=[interpreter],
        tools=[Tool(query), Tool(post, requires_approval=True)],
    )


async def test_handles_outlive_the_interpreter_in_a_store(interpreter: Make, tmp_path: Any) -> None:
    conversations = MemoryStore()
    with SQLiteStore(tmp_path / "handles.db") as store:

        def make() -> Any:
            handles = Handles(store, handle_bytes=10_000)
            return interpreter(store=conversations, ptc=["query"], plugins=[handles])

        agent = agent_of([], make(), "const h = await tools.query({}); h.shape.rows")
        assert "2000" in (await agent.run("go", conversation_id="c")).output
        agent = agent_of([], make(), "await h.json('[7].text')")
        assert "row 7" in (await agent.run("go", conversation_id="c")).output
        agent = agent_of([], make(), "(await handles.list()).length")
        assert "<result>0</result>" in (await agent.run("go", conversation_id="d")).output


async def test_an_approval_shows_the_handle_and_the_tool_gets_the_value(interpreter: Make) -> None:
    posted: list[Any] = []
    own = interpreter(plugins=[Handles(MemoryStore(), handle_bytes=10_000)])
    code = "const h = await tools.query({}); await tools.post({rows: h, note: 'n'})"
    agent = agent_of(posted, own, code)
    paused = await agent.run("go", conversation_id="c")
    (asked,) = questions(paused.output)
    text = asked.args["rows"]["$handle"]
    assert 'type "table"' in text
    assert "digest" in text
    assert "row 1999" not in str(paused.output)
    assert posted == []
    edited = ToolApproved(override_args={**asked.args, "note": "edited"})
    result = await agent.run(
        message_history=paused.all_messages(),
        deferred_tool_results=answers(paused.output, {asked.id: edited}),
        conversation_id="c",
    )
    assert "posted 2000 edited" in result.output
    assert posted == [ROWS]
