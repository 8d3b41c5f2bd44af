"""Tests of interpstack_langchain.prompt."""

from __future__ import annotations

import attrs
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import ModelRequest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from scripted import Script

from interpstack import GuestLanguage, PromptWords
from interpstack_agents import lifetime_of_variables
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_langchain.options import Options
from interpstack_langchain.prompt import (
    code_description,
    interpreter_section,
    tool_description,
    with_section,
)
from interpstack_persistence.modes import CallMode, ThreadMode, TurnMode

WORDS = PromptWords(
    cells="SAY IT.",
    calling="C",
    waiting="W",
    together="T",
    failing="F",
    each="E",
    importing="I",
    printing="P",
)
LANGUAGE = GuestLanguage(name="klingon", title="Klingon", words=WORDS)
STATES = {
    "thread": "across calls and turns",
    "turn": "until you give your final answer",
    "call": "no variables persist",
}


MODES = {mode.name: mode() for mode in (ThreadMode, TurnMode, CallMode)}


@pytest.mark.parametrize("name", STATES)
def test_it_says_how_long_variables_live(name: str) -> None:
    section = interpreter_section(Options(), lifetime_of_variables(MODES[name]), LANGUAGE)
    assert [one for one, words in STATES.items() if words in section] == [name]


def test_a_conversation_that_is_not_stored_keeps_its_variables_for_a_turn() -> None:
    for name, found in (("thread", "turn"), ("turn", "turn"), ("call", "call")):
        assert STATES[found] in lifetime_of_variables(MODES[name], stored=False)


def test_the_tool_promises_nothing_that_needs_a_checkpointer() -> None:
    assert tool_description(MODES["thread"], LANGUAGE).endswith("Variables persist across calls.")
    assert STATES["turn"] in tool_description(MODES["turn"], LANGUAGE)
    assert STATES["call"] in tool_description(MODES["call"], LANGUAGE)


@pytest.mark.parametrize("stored", [True, False])
def test_variables_are_promised_across_turns_only_with_a_checkpointer(stored: bool) -> None:
    model = Script()
    with CodeInterpreterMiddleware() as interpreter:
        saver = InMemorySaver() if stored else None
        agent = create_agent(model, middleware=[interpreter], checkpointer=saver)
        agent.invoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": "t"}})
    prompt = model.seen[0][0].text
    assert (STATES["thread"] in prompt) == stored
    assert (STATES["turn"] in prompt) == (not stored)
    shown = " ".join(tool.description for tool in model.bound)
    assert STATES["thread"] not in shown


def test_it_says_what_the_options_say() -> None:
    options = Options(tool_name="run", timeout=2.5, memory_limit=7 * 2**20, max_result_chars=123)
    section = interpreter_section(options, "thread", LANGUAGE)
    for text in ("`run`", "Klingon", "2.5 s", "7 MiB", "123 char", "- SAY IT."):
        assert text in section
    unlimited = interpreter_section(attrs.evolve(options, timeout=None), "thread", LANGUAGE)
    assert "no limit" in unlimited
    assert "{" not in section


def test_a_language_without_advice_on_cells_leaves_no_empty_line() -> None:
    silent = attrs.evolve(LANGUAGE, words=attrs.evolve(WORDS, cells=""))
    section = interpreter_section(Options(), "thread", silent)
    assert [line for line in section.splitlines() if line.strip() == "-"] == []
    assert "SAY IT." not in section


def test_the_tool_and_its_argument_name_the_language() -> None:
    assert tool_description(MODES["call"], LANGUAGE).startswith("Run Klingon in a sandbox")
    assert code_description("Klingon").startswith("Klingon to run.")


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (None, "### Code"),
        (SystemMessage("Be brief."), "Be brief.\n\n### Code"),
        (SystemMessage([{"type": "text", "text": "Be brief."}]), "Be brief.\n\n### Code"),
    ],
)
def test_the_section_begins_a_paragraph(before: SystemMessage | None, expected: str) -> None:
    model = GenericFakeChatModel(messages=iter([]))
    request = ModelRequest(model=model, messages=[], system_message=before)
    message = with_section(request, "### Code").system_message
    assert message is not None
    assert message.text == expected
