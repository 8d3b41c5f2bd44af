"""The runner of evals: what the model reads of an outcome."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import hookimpl
from interpstack_langchain import PRESET


class Renders:
    """A plugin that renders results in its own way, and leaves errors to the kernel."""

    name = "renders"

    @hookimpl
    def interpstack_render_outcome(self, outcome: Any) -> str | None:
        return f"shown: {outcome.text}" if outcome.ok else None


class Fails:
    name = "fails"

    @hookimpl
    def interpstack_render_outcome(self) -> str:
        raise RuntimeError("no ink")


@pytest.mark.parametrize("mode", ["thread", "turn", "call"])
async def test_a_plugin_renders_the_answers_of_evals(talk: Any, mode: str) -> None:
    chat = talk(preset=PRESET.with_(Renders()), mode=mode)
    assert await chat.run("20 + 1") == ["shown: 21"]
    assert (await chat.run("missing"))[0].startswith('<error type="ReferenceError">')


async def test_a_plugin_that_fails_to_render_keeps_no_answer_from_the_model(talk: Any) -> None:
    chat = talk(preset=PRESET.with_(Fails()))
    (answer,) = await chat.run("let kept = 20 + 1; kept")
    assert answer.splitlines() == [
        "<notice>A plugin failed to render this answer (RuntimeError).</notice>",
        "<result>21</result>",
    ]
