"""Tests of interpstack_ptc.prompt."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from interpstack import GuestLanguage, HostOffer, HostTool, LearnedSchema, PromptWords
from interpstack_ptc.api import ToolSignatures
from interpstack_ptc.prompt import tools_section


class Spelled(GuestLanguage):
    """Names in capitals, with a signature of one line."""

    def identifier(self, name: str) -> str:
        return name.upper().replace("-", "_")

    def signature(self, name: str, tool: HostTool) -> str:
        return f"{name}: {tool.description}"


WORDS = PromptWords(
    cells="",
    calling="CALL SO.",
    waiting="wait {call}",
    together="BOTH AT ONCE.",
    failing="FAILS SO.",
    each="",
    importing="",
    printing="",
)
LANGUAGE = Spelled(name="spelled", title="Spelled", words=WORDS)


async def _nothing(value: Any, context: Any) -> None:
    return None


def offer(*names: str, **options: Any) -> HostOffer:
    tools = [HostTool(name=name, call=_nothing, description=f"Does {name}.") for name in names]
    return HostOffer(tools=tools, **options)


def test_without_tools_there_is_no_section() -> None:
    assert tools_section(LANGUAGE, offer()) is None


def test_it_lists_the_signatures_by_the_names_that_code_uses() -> None:
    section = tools_section(LANGUAGE, offer("web-search", "pay", code_tool="run_it"))
    assert section is not None
    assert section.endswith("On `tools`:\n\nWEB_SEARCH: Does web-search.\nPAY: Does pay.")
    for text in ("Code in `run_it`", "CALL SO.", "- BOTH AT ONCE.", "- FAILS SO."):
        assert text in section
    assert "{" not in section


def test_a_language_that_does_one_thing_at_a_time_says_nothing_of_two() -> None:
    alone = attrs.evolve(LANGUAGE, words=attrs.evolve(WORDS, together=""))
    section = tools_section(alone, offer("pay"))
    assert section is not None
    assert [line for line in section.splitlines() if line.strip() == "-"] == []


@pytest.mark.parametrize("spare", [0, -1])
def test_beyond_the_bound_it_lists_names_and_how_to_search(spare: int) -> None:
    shown = len("WEB_SEARCH: Does web-search.\nPAY: Does pay.")
    made = offer("web-search", "pay", parts=[ToolSignatures(max_chars=shown + spare)])
    section = tools_section(LANGUAGE, made)
    assert section is not None
    if spare == 0:
        assert "Does pay." in section
        return
    assert "Does pay." not in section
    assert section.endswith("Names on `tools`: WEB_SEARCH, PAY")
    assert "`tools._search` finds some by words, `tools._describe` shows" in section


def test_searching_is_shown_as_code_where_the_language_has_words_for_it() -> None:
    asking = attrs.evolve(LANGUAGE, words=attrs.evolve(WORDS, asking="{function}<{text}>"))
    section = tools_section(asking, offer("pay", parts=[ToolSignatures(max_chars=0)]))
    assert section is not None
    assert "`wait tools._search<words>` finds some, `wait tools._describe<name>` shows" in section


ADVICE = "- Look at one answer of type `anything` first."
TYPED = {"type": "object", "properties": {"a": {"type": "string"}}}


@pytest.mark.parametrize(
    ("schema", "learned", "advised"),
    [
        (None, None, True),
        ({"type": "object"}, None, True),
        ({"type": "array"}, None, True),
        ({"type": "string"}, None, False),
        (TYPED, None, False),
        (None, LearnedSchema(schema=TYPED, seen=3), False),
    ],
)
def test_it_says_to_look_at_answers_of_unknown_types(
    schema: Any, learned: Any, advised: bool
) -> None:
    language = attrs.evolve(LANGUAGE, words=attrs.evolve(WORDS, unknown="anything"))
    tool = HostTool(name="pay", call=_nothing, output_schema=schema, learned=learned)
    section = tools_section(language, HostOffer(tools=[tool]))
    assert section is not None
    assert (ADVICE in section.splitlines()) is advised
    assert "Look at one" not in (tools_section(LANGUAGE, HostOffer(tools=[tool])) or "")
