"""Tests of interpstack_subagents.prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from interpstack import GuestLanguage, HostOffer, PromptWords
from interpstack_subagents.api import Subagents
from interpstack_subagents.prompt import task_section


class Spelled(GuestLanguage):
    """Names in capitals."""

    def identifier(self, name: str) -> str:
        return name.upper()

    def usage(self, function: str, fields: Mapping[str, bool]) -> str:
        return f"{function} {' '.join(name + '!?'[not must] for name, must in fields.items())}"


WORDS = PromptWords(
    cells="",
    calling="",
    waiting="wait {call}",
    together="",
    failing="",
    each="all {function}",
    importing="",
    printing="",
    mapping="a MAP",
    job_failing="A JOB FAILS SO.",
)
LANGUAGE = Spelled(name="spelled", title="Spelled", words=WORDS)


async def _dispatch(wanted: Any, context: Any) -> Any:
    return None


OFFER = HostOffer(parts=[Subagents(dispatch=_dispatch)])


def test_without_subagents_there_is_no_section() -> None:
    assert task_section(LANGUAGE, HostOffer()) is None


def test_it_is_written_in_the_words_of_the_language() -> None:
    section = task_section(LANGUAGE, OFFER)
    assert section is not None
    for text in (
        "`wait task DESCRIPTION! SUBAGENT_TYPE! LABEL? RESPONSE_SCHEMA?` runs a subagent",
        "- Run independent jobs in parallel: `all task`.",
        "- With `RESPONSE_SCHEMA`, a JSON Schema",
        "the answer is a MAP;",
        "- A JOB FAILS SO.",
    ):
        assert text in section
    assert "{" not in section


def test_a_language_that_does_one_thing_at_a_time_says_nothing_of_two() -> None:
    alone = attrs.evolve(LANGUAGE, words=attrs.evolve(WORDS, each=""))
    section = task_section(alone, OFFER)
    assert section is not None
    assert "together" not in section
