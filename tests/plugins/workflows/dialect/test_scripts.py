"""Ten scripts for Claude Code, each of which runs unmodified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_code_scripts import SCRIPTS, Team
from git_repositories import left_of, repository
from workflow_runs import runner

from interpstack_workflows.api import AgentCall, WorkflowResult
from interpstack_workflows.events.events import WorkflowEvent

__all__ = ["repository"]


@pytest.fixture(params=["quickjs", "v8", "node"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def ran(script: str, team: Team, args: Any = None, **given: Any) -> WorkflowResult:
    """The end of a run of a script, which has completed."""
    options = {name: given.pop(name) for name in ("budget",) if name in given}
    async with runner(team, **given) as made:
        result = await made.run(SCRIPTS / script, args, **options)
    assert (result.status, result.error) == ("completed", None)
    return result


def logged(events: list[WorkflowEvent]) -> list[str]:
    found = (event.to_json() for event in events)
    return [one["message"] for one in found if one["type"] == "workflow.log"]


async def test_research_goes_on_without_an_angle_whose_agent_failed(engine: str) -> None:
    def answer(call: AgentCall) -> Any:
        if call.label == "plan":
            return {"angles": ["age", "size", "origin"]}
        return OSError("no network") if call.label == "size" else f"<{call.prompt}>"

    team, events = Team(answer), list[WorkflowEvent]()
    result = await ran("research.js", team, {"topic": "tides"}, engine=engine, events=events.append)
    notes = ["<Search tides: age>", "<Search tides: origin>"]
    assert result.result == {"notes": notes, "report": "<Merge:\n" + "\n".join(notes) + ">"}
    assert logged(events) == ["3 angles", "1 angles gave nothing"]
    assert [call.phase for call in team.calls] == ["Plan", *["Search"] * 3, "Merge"]
    assert result.census["errors"] == [{"name": "OSError", "message": "no network", "count": 1}]


async def test_a_review_drops_the_area_whose_agent_gave_null(engine: str) -> None:
    def answer(call: AgentCall) -> Any:
        if call.phase == "Check":
            return {"real": "wrong" not in call.prompt}
        if call.label == "review:maps":
            return OSError("gone")
        return {"findings": [f"{call.label} is old", f"{call.label} is wrong"]}

    team, events = Team(answer), list[WorkflowEvent]()
    result = await ran("review.js", team, engine=engine, events=events.append)
    assert [(one["index"], one["finding"]) for one in result.result] == [
        (0, "review:tides is old"),
        (2, "review:lamps is old"),
    ]
    (line,) = logged(events)
    assert line.startswith("pipeline: item 1 is null: TypeError: ")


async def test_a_loop_ends_before_its_budget_does() -> None:
    team = Team(tokens=30)
    result = await ran("budget_loop.js", team, budget=100)
    assert result.result == {"found": ["DIG 1", "DIG 2", "DIG 3"], "spent": 90}
    assert (await ran("budget_loop.js", Team())).result == {"found": [], "spent": 0}


async def test_a_panel_of_judges_chooses_the_best_draft() -> None:
    def answer(call: AgentCall) -> Any:
        if call.schema is None:
            return f"<{call.prompt}>"
        judge = int(call.prompt.split(":")[0].split()[1])
        return {"score": judge * (3 if "plain" in call.prompt else 1)}

    team = Team(answer)
    result = await ran("judges.js", team, models={"careful": "acme/large"})
    assert result.result == {
        "best": "<Draft, plain>",
        "total": 18,
        "final": "<Refine: <Draft, plain>>",
    }
    wishes = {(call.phase, call.model, call.model_options.get("thinking")) for call in team.calls}
    assert wishes == {
        ("Draft", None, "low"),
        ("Judge", "large", "high"),
        ("Refine", None, None),
    }


async def test_a_script_runs_other_scripts() -> None:
    team = Team(lambda call: len(call.label or ""))
    named = {"count-rooms": SCRIPTS / "nested_child.js"}
    result = await ran("nested.js", team, workflows=named)
    assert result.result == {
        "counted": [{"house": "north", "rooms": 5}, {"house": "south", "rooms": 5}],
        "named": {"house": "east", "rooms": 4},
        "missing": "Unknown workflow: houses-2. Known workflows: count-rooms",
    }


async def test_answers_fit_their_schema_or_the_call_throws() -> None:
    def answer(call: AgentCall) -> Any:
        if "torn" in call.prompt:
            return {"payee": "?"}
        return OSError("unreadable") if call.label == "b" else {"payee": call.label, "cents": 40}

    result = await ran("schema.js", Team(answer), {"files": ["a", "b", "c"]})
    assert result.result == {
        "sum": 80,
        "payees": ["a", None, "c"],
        "refused": "StructuredOutputError",
    }


async def test_phases_are_those_of_the_calls(engine: str) -> None:
    team = Team()
    assert (await ran("phases.js", team, engine=engine)).result == 4
    assert [(call.prompt, call.phase, call.model) for call in team.calls] == [
        ("scan", "Scan", None),
        ("fix", "Fix", "small"),
        ("scan again", "Scan", None),
        ("tidy", "A phase that is announced nowhere", None),
    ]


async def test_isolated_agents_answer_as_others_do(repository: Path) -> None:
    def answer(call: AgentCall) -> Any:
        assert call.cwd is not None
        if call.label is not None:
            (call.cwd / f"new-{call.label}.txt").write_text("new\n")
        return {"done": True} if call.schema else "written"

    events = list[WorkflowEvent]()
    result = await ran("worktrees.js", Team(answer), worktrees=repository, events=events.append)
    assert result.result == {"text": "WRITTEN", "done": True, "nothing": "written"}
    assert sorted(logged(events)) == [
        f'agent "{name}" changed files in its worktree: new-{name}.txt; `interpstack workflow patch'
        " RUN` prints the patch"
        for name in "ab"
    ]
    assert left_of(repository) == []


async def test_a_script_tries_again_when_an_agent_gave_null() -> None:
    def answer(call: AgentCall) -> Any:
        page, number = (call.label or "").split("#")
        return OSError("busy") if page == "lost" or number == "1" else f"{page} {number}"

    result = await ran("retries.js", Team(answer), ["home", "lost"])
    assert result.result == {
        "read": [{"page": "home", "round": 2, "read": "home 2"}],
        "lost": ["lost"],
    }


@pytest.mark.parametrize(
    ("args", "result"),
    [
        (None, {"done": 0, "why": "no files"}),
        ('{"files": []}', {"done": 0, "why": "no files"}),
        ({"files": ["a", "b", "c"]}, {"done": 1, "why": "stopped at b"}),
        ('{"files": ["a"]}', {"done": 1}),
    ],
)
async def test_a_script_returns_early(engine: str, args: Any, result: Any) -> None:
    team = Team(lambda call: "stop" if " b " in call.prompt else "go on")
    assert (await ran("early_return.js", team, args, engine=engine)).result == result
