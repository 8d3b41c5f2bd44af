"""The text in the system prompt."""

from __future__ import annotations

from typing import Any

import pytest
from workflow_runs import Prompts
from workflow_talk import workflow

from interpstack_langchain.workflows.by_models.options import WorkflowOptions
from interpstack_langchain.workflows.by_models.prompt import section
from interpstack_workflows.api import Agent, WorkflowMetadata, WorkflowRunner


class Described(Agent):
    def __init__(self, description: str) -> None:
        self.description = description

    async def run(self, call: Any) -> Any:
        raise AssertionError


def known(count: int) -> dict[str, WorkflowMetadata]:
    return {
        f"flow{n}": WorkflowMetadata(
            name=f"flow{n}",
            description="does\nmuch",
            when_to_use="often",
            args_schema={"type": "array"},
        )
        for n in range(count)
    }


def test_isolation_is_mentioned_where_an_agent_can_be_isolated() -> None:
    editor = Described("Edits.")
    editor.takes_cwd = True
    agents, options = {"editor": editor, "reader": Described("")}, WorkflowOptions()
    text = section(options, agents, {}, isolates=True)
    assert 'isolation: "worktree"' in text
    assert "- `editor` (takes isolation): Edits.\n- `reader`" in text + "\n"
    assert "isolation" not in section(options, agents, {})
    assert "isolation" not in section(options, {"reader": Described("")}, {}, isolates=True)
    assert "isolation" not in section(WorkflowOptions(writes=False), agents, {}, isolates=True)


def test_the_prompt_lists_verbs_agents_and_workflows() -> None:
    options = WorkflowOptions(tool_prefix="w_", budget={"agents": 3}, signals=True)  # type: ignore[arg-type]
    text = section(options, {"default": Described(""), "reader": Described("Reads.")}, known(1))
    assert "`w_start` starts it." in text
    assert "`w_send` answers questions" in text
    assert "- Limits: 4 runs at once, 3 agents a run." in text
    assert "- `default` (called where no agentType is given)\n- `reader`: Reads." in text
    assert '- `flow0`: does much often Arguments: `{"type":"array"}`' in text
    assert "{{" not in text


@pytest.mark.parametrize("most", [3500, 6000])
@pytest.mark.parametrize("workflows", [0, 1000])
def test_it_has_a_budget(most: int, workflows: int) -> None:
    options = WorkflowOptions(max_prompt_chars=most)
    agents = {f"agent{n}": Described("does things " * 100) for n in range(1000)}
    text = section(options, agents, known(workflows))
    assert len(text) <= most
    assert "more agents" in text
    assert ("more workflows" in text) is bool(workflows)
    assert "agent0" in text


def test_it_fits_as_it_is_usually_set() -> None:
    assert len(section(WorkflowOptions(), {"default": Described("x")}, {})) < 3000


async def test_the_workflow_that_it_shows_is_one() -> None:
    text = section(WorkflowOptions(), {}, {})
    source = text.partition("```js\n")[2].partition("\n```")[0]
    async with WorkflowRunner(agents={"default": Prompts()}) as runner:
        found = await runner.rehearse(source, {"files": ["a", "b"]})
        assert (found.ends, found.faults, found.phases) == (True, (), ("Review",))
        assert len(found.steps) == 3
        verbs = "await sleep(1); await ask('q', {choices: [1]}); await wait('s', {default: 1});"
        assert (await runner.rehearse(workflow(verbs))).ends
