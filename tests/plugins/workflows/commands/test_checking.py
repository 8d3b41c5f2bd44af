"""Checks of files: what a run would refuse, and what it would only meet on its way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interpstack import InterpreterStack
from interpstack_workflows.commands.checking import checked
from interpstack_workflows.errors import WorkflowError

_META = "export const meta = {name: 'NAME', description: 'd'};\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _write(name: str, body: str) -> Path:
    path = Path(f"{name}.js")
    path.write_text(_META.replace("NAME", name) + body, "utf-8")
    return path


async def _echo(prompt: str) -> str:
    raise AssertionError("a check calls no agent")


def _lines(*files: Path, engine: str = "quickjs", agents: Mapping[str, Any] | None = None) -> Any:
    with InterpreterStack(engine) as stack:
        return list(checked(files, stack, agents or {}, {}))


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
def test_an_unknown_child_is_reported_with_its_place(folder: Path, engine: str) -> None:
    file = _write("a", "await agent('x');\nexport default workflow('gone')")
    with pytest.raises(WorkflowError, match=r"^a\.js:3: Unknown workflow: gone\. Known") as raised:
        _lines(file, engine=engine)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("export default workflow({scriptPath: './gone.js'})", "No workflow file at ./gone.js: "),
        ("export default workflow({scriptPath: '../b.js'})", "'../b.js' is outside the allowed"),
        ("export default workflow({scriptPath: './a.js'})", "may not form a cycle: a → a"),
        ("export default workflow({scriptPath: './c.js'})", "export valid literal metadata"),
        (
            "try { await workflow('gone') } catch {}; export default 1",
            "a.js:2: Unknown workflow: gone",
        ),
    ],
)
def test_calls_that_mean_no_workflow_are_refused(folder: Path, body: str, message: str) -> None:
    Path("c.js").write_text("export default 1", "utf-8")
    with pytest.raises(WorkflowError) as raised:
        _lines(_write("a", body))
    assert message in str(raised.value)
    assert str(raised.value).startswith("a.js:")


def test_a_fault_of_a_child_names_the_child(folder: Path) -> None:
    child = _write("b", "const one = 1;\nexport default workflow('gone')")
    file = _write("a", "export default workflow({scriptPath: './b.js'})")
    with pytest.raises(WorkflowError, match=r"^b\.js:3: Unknown workflow: gone"):
        _lines(file)
    child.write_text(_META.replace("NAME", "b") + "export default 1", "utf-8")
    assert _lines(file, child) == ["a.js: a: d", "b.js: b: d"]


def test_names_of_agents_count_where_agents_are_known(folder: Path) -> None:
    file = _write("a", "export default agent('x', {agentType: 'writr'})")
    assert _lines(file) == ["a.js: a: d"]
    with pytest.raises(WorkflowError, match=r"^a\.js:2: Unknown agent: writr; did you mean 'wri"):
        _lines(file, agents={"writer": _echo, "reader": _echo})
    assert _lines(file, agents={"writr": _echo}) == ["a.js: a: d"]


def test_a_call_without_a_name_needs_a_default_agent(folder: Path) -> None:
    file = _write("a", "export default agent('x')")
    with pytest.raises(WorkflowError, match=r"^a\.js: Unknown agent: default\. Known agents: one"):
        _lines(file, agents={"one": _echo, "two": _echo})
    assert _lines(file, agents={"one": _echo}) == ["a.js: a: d"]


def test_names_that_depend_on_an_answer_are_no_faults(folder: Path) -> None:
    body = """
    const who = await agent('who?');
    await agent('x', {agentType: who});
    await workflow(who);
    await agent('x', {label: who.title});
    export default SW.sandbox.exec('local/x', {command: 'ls'});
    """
    assert _lines(_write("a", body), agents={"writer": _echo, "default": _echo}) == ["a.js: a: d"]


def test_a_name_that_a_script_does_not_have_is_refused(folder: Path) -> None:
    child = _write("b", "export default async () => slep(1)")
    with pytest.raises(WorkflowError, match=r"^b\.js:2: ReferenceError: slep is not defined$"):
        _lines(child)
    with pytest.raises(WorkflowError, match=r"^a\.js: the workflow b failed: ReferenceError: slep"):
        _lines(_write("a", "export default workflow({scriptPath: './b.js'})"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{lable: 'y'}", "agent has no option 'lable'; it has agentType, "),
        ("{'lable': who}", "agent has no option 'lable'; it has agentType, "),
        ("{maxTokens: 'many'}", 'agent option maxTokens takes a positive whole number; got "many"'),
        ("{retry: {maxAttempts: 0}}", "agent retry.maxAttempts must be a positive integer"),
        ("{retry: true}", "agent retry option must be an object"),
        ("{label: 5}", "agent option label takes a string; got 5"),
        ("{schema: 1}", "agent option schema takes a JSON Schema; got 1"),
        ("{isolation: 'none'}", "agent option isolation takes 'worktree'; got \"none\""),
    ],
)
def test_options_that_a_script_has_wrong_are_refused_with_their_line(
    folder: Path, options: str, message: str
) -> None:
    body = f"const who = await agent('who?', {{label: 'y'}});\nexport default agent('x', {options})"
    with pytest.raises(WorkflowError) as raised:
        _lines(_write("a", body))
    assert str(raised.value).startswith(f"a.js:3: {message}")


@pytest.mark.parametrize("options", ["{schema: {type: 3}}", "{maxTokens: 1 - 2}"])
def test_wrong_options_before_any_answer_are_refused(folder: Path, options: str) -> None:
    with pytest.raises(WorkflowError, match=r"^a\.js: agent option "):
        _lines(_write("a", f"export default agent('x', {options})"))


@pytest.mark.parametrize(
    "body",
    [
        "const n = await agent('n'); export default agent('x', {maxTokens: n})",
        "const n = await agent('n'); export default agent('x', {schema: {type: n}})",
        "export default agent('x', {maxTokens: args?.most ?? -1})",
        "const n = await agent('n'); export default agent('x', {['lab' + n]: 'y'})",
    ],
)
def test_options_that_an_answer_may_have_made_wrong_are_named_behind_the_file(
    folder: Path, body: str
) -> None:
    first, note = _lines(_write("a", body))
    assert first == "a.js: a: d"
    assert note.startswith("a.js: with made-up answers, a step fails: agent ")


def test_files_before_a_wrong_one_are_reported(folder: Path) -> None:
    right = _write("a", "export default 1")
    wrong = _write("b", "export default workflow('gone')")
    with InterpreterStack("quickjs") as stack:
        lines = checked([right, wrong], stack, {}, {})
        assert next(lines) == "a.js: a: d"
        with pytest.raises(WorkflowError):
            next(lines)
