"""What the model reads about the REPL."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import tool

from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_learned import LearnedTypes
from interpstack_state import MemoryStore


@tool("read-file")
def read_file(path: str) -> str:
    """Read a file."""
    return path


def system(chat: Any) -> str:
    """The system prompt of the last call of the model."""
    message = chat.model.seen[-1][0]
    assert message.type == "system"
    return str(message.text)


async def test_the_section_teaches_the_tools_and_the_helpers(repl: Any) -> None:
    chat = repl(tools=[read_file], cell_seconds=12)
    await chat.run("1")
    text = system(chat)
    assert text.count("### JavaScript REPL") == 1
    for part in (
        "`js_repl`",
        "`js_repl_reset`",
        "// interpstack: timeout_ms=15000",
        "the default is 12 s",
        "`codex.tool(name, input)`",
        "`codex.emitImage(image)`",
        "Variables persist across calls and turns",
        "a block `{ … }`",
    ):
        assert part in text
    assert "read-file" not in text  # the model has the tool itself
    assert "### Code interpreter" not in text
    assert "tools.readFile" not in text


async def test_tools_are_listed_where_the_model_sees_them_only_here(repl: Any) -> None:
    chat = repl(tools=[read_file], tools_only=True, namespace="js", tool_name="node")
    await chat.run({"name": "node", "args": {"code": "1"}, "id": "1", "type": "tool_call"})
    text = system(chat)
    assert "Direct tool calls are disabled, except of `node` and `node_reset`" in text
    assert "read-file(input: {" in text
    assert "`js.tool(name, input)`" in text


async def test_many_tools_are_listed_by_name(repl: Any) -> None:
    def make(number: int) -> Any:
        def run(text: str) -> str:
            """Does something that takes many words to say, and then some more of them."""
            return text

        return tool(f"tool_{number}")(run)

    chat = repl(tools=[make(n) for n in range(120)], tools_only=True)
    await chat.run("1")
    assert "Their names: `tool_0`, `tool_1`" in system(chat)


async def test_answers_that_were_learned_are_shown(repl: Any) -> None:
    @tool
    def look(path: str) -> dict:
        """Look."""
        return {"size": len(path)}

    store = MemoryStore()
    types = LearnedTypes(store)
    chat = repl(tools=[look], tools_only=True, learn_types=types)
    await chat.run("await codex.tool('look', {path: 'a'}); await codex.tool('look', {path: 'b'})")
    types.save()
    chat = repl(tools=[look], tools_only=True, learn_types=LearnedTypes(store))
    await chat.run("1")
    line = "look(input: { path: string }): Promise<{ size: number }> // seen 2 times"
    assert line in system(chat).splitlines()


async def test_without_tools_the_section_says_so(repl: Any) -> None:
    chat = repl(tools_only=True)
    await chat.run("1")
    assert "There are none." in system(chat)


def test_other_interpreters_have_no_section_on_it() -> None:
    with CodeInterpreterMiddleware() as middleware:
        assert "JavaScript REPL" not in middleware.stack.prompt()
