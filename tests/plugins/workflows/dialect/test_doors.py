"""Scripts for Claude Code through every door: commands, children, models, rehearsals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_code_scripts import SCRIPTS, Team, bare
from click.testing import CliRunner, Result
from git_repositories import git, repository
from workflow_runs import MemoryRuns, runner, script

from interpstack_cli import main

__all__ = ["repository"]

_AGENTS = """
from pathlib import Path

calls = []

async def agent(call):
    calls.append(call.prompt)
    if call.cwd is not None:
        (call.cwd / "new.txt").write_text("new\\n")
    if "stop" in call.prompt:
        return "stop"
    if "fail" in call.prompt and not Path("mended").exists():
        raise OSError("no network")
    return {"angles": ["a", "b"]} if call.schema else call.prompt.upper()

team = {"default": agent}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"crew_{tmp_path.name.replace('-', '_')}.py").write_text(_AGENTS, "utf-8")
    return tmp_path


def crew(folder: Path) -> str:
    return f"crew_{folder.name.replace('-', '_')}:team"


def command(*args: str, status: int = 0) -> Result:
    done = CliRunner().invoke(main, ["workflow", *args], catch_exceptions=False)
    assert done.exit_code == status, done.output
    return done


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.js")), ids=lambda path: path.name)
def test_a_check_names_the_form(path: Path, folder: Path) -> None:
    line = command("check", str(path), "--workflows", str(SCRIPTS)).stdout.splitlines()[0]
    assert line.startswith(f"{path}: ")
    assert line.endswith("; a script for Claude Code, which runs here unchanged")


def test_a_check_says_what_is_wrong(folder: Path) -> None:
    (folder / "module.js").write_text(script("return 1"), "utf-8")
    assert command("check", "module.js").stdout == "module.js: tested: tested\n"
    for body, message in (
        ("return 1\nexport default 2", "wrong.js:2:1: the script has both forms of a workflow: "),
        ("return agent('a', { effrt: 'low' })", "wrong.js:2: agent has no option 'effrt'; it has"),
        ("return agent('a', { effort: 'much' })", "wrong.js:2: agent option effort takes 'low', "),
        (
            "const a = { nobody: 'nobody' }\nlog(a.nobody)\nreturn nobody.knows",
            "wrong.js:4: ReferenceError: nobody is not defined",
        ),
        ("return 1 +", "wrong.js:2:11: the module does not parse: "),
        ("import x from 'y'\nreturn x", "workflow imports are restricted; only "),
    ):
        (folder / "wrong.js").write_text(bare(body), "utf-8")
        (line,) = command("check", "wrong.js", status=2).stderr.splitlines()
        assert message in line


def test_commands_run_show_and_resume_a_script(folder: Path) -> None:
    body = (
        "const a = await agent('fail')\nif (a === null) return ['nothing', args.n]\n"
        "return [a, args.n]"
    )
    (folder / "script.js").write_text(bare(body), "utf-8")
    options = ["--agents", crew(folder), "--run-id", "r", "--args", '{"n": 5}']
    done = json.loads(command("run", "script.js", *options).stdout)
    assert (done["status"], done["result"]) == ("completed", ["nothing", 5])
    assert "no network" in command("show", "r").stdout
    assert json.loads(command("show", "r", "--json").stdout)["budget"] == {"agents": 1000}
    (folder / "script.js").unlink()
    (folder / "mended").write_text("")
    again = command("resume", "r", "--agents", crew(folder), "--retry-failed")
    assert json.loads(again.stdout)["result"] == ["FAIL", 5]


def test_commands_know_the_scripts_of_a_folder(folder: Path) -> None:
    options = ["--agents", crew(folder), "--workflows", str(SCRIPTS), "--run-id", "r"]
    done = json.loads(command("run", str(SCRIPTS / "nested.js"), *options).stdout)
    assert done["result"]["named"] == {"house": "east", "rooms": "COUNT THE ROOMS OF EAST"}
    assert (
        "answered: workflow"
        in command("diff", "r", str(SCRIPTS / "nested.js"), *options[:4]).stdout
    )
    assert (
        "Folder 'gone' not found" in command("run", "a.js", "--workflows", "gone", status=2).stderr
    )


def test_a_script_asks_a_person(folder: Path) -> None:
    body = (
        "const ok = await ask('Go?', { choices: ['yes', 'no'] })\n"
        "return ok === 'yes' ? agent('a') : null"
    )
    (folder / "script.js").write_text(bare(body), "utf-8")
    options = ["--agents", crew(folder), "--run-id", "r"]
    assert json.loads(command("run", "script.js", *options).stdout)["status"] == "waiting"
    command("answer", "r", '"yes"')
    done = json.loads(command("resume", "r", "--agents", crew(folder)).stdout)
    assert done["result"] == "A"


def test_a_command_prints_the_patches_of_a_run(folder: Path, repository: Path) -> None:
    body = "return [await agent('write', { isolation: 'worktree' }), await agent('rest')]"
    (folder / "script.js").write_text(bare(body), "utf-8")
    options = ["--agents", crew(folder), "--run-id", "r", "--worktrees", str(repository)]
    done = command("run", "script.js", *options)
    assert json.loads(done.stdout)["result"] == ["WRITE", "REST"]
    patch = command("patch", "r").stdout
    git(repository, "apply", "-", input=patch.encode())
    assert (repository / "new.txt").read_text() == "new\n"
    assert "The store has no run 'gone'" in command("patch", "gone", status=2).stderr


async def test_a_module_and_a_script_call_each_other() -> None:
    workflows = {
        "bare": bare("return ['bare', args, await agent('fail')]", "bare"),
        "module": script("return ['module', args, await agent('b')]", "module"),
    }
    team = Team(lambda call: OSError("gone") if call.prompt == "fail" else call.prompt.upper())
    async with runner(team, workflows=workflows) as made:
        first = await made.run(script("return workflow('bare', {n: 1})"))
        second = await made.run(bare("return workflow('module')"))
        failed = await made.run(script("return agent('fail')"))
    assert first.result == ["bare", {"n": 1}, None]
    assert second.result == ["module", None, "B"]
    assert failed.error == {"name": "OSError", "message": "gone", "stack": failed.error["stack"]}


async def test_a_child_in_both_forms_is_refused() -> None:
    both = bare("return 1\nexport default 2", "both")
    async with runner(Team(), workflows={"both": both}) as made:
        found = await made.run(bare("return workflow('both')"))
    assert found.error is not None
    assert found.error["name"] == "MetadataError"
    assert "both forms of a workflow" in found.error["message"]


async def test_a_rehearsal_takes_the_steps_of_a_script() -> None:
    team = Team()
    async with runner(team, workflows=[SCRIPTS]) as made:
        found = await made.rehearse(SCRIPTS / "research.js", {"topic": "tides"})
        nested = await made.rehearse(SCRIPTS / "nested.js")
        wrong = await made.rehearse(bare("\n  await agent('a', { agentType: 'Explore' })"))
    assert team.calls == []
    assert (found.error, found.faults, found.ends) == (None, (), True)
    assert found.phases == ("Plan", "Search", "Merge")
    assert [step.what for step in found.steps][:2] == [
        "Name the angles of tides",
        "Search tides: stand-in for an answer",
    ]
    assert [step.kind for step in nested.steps].count("workflow") == 4
    (fault,) = wrong.faults
    assert (fault.name, fault.line, fault.column) == ("UnknownAgent", 3, 33)


async def test_a_changed_script_is_compared_before_anything_is_spent() -> None:
    store, team = MemoryRuns(), Team()
    async with runner(team, store) as made:
        await made.run(bare("return [await agent('a'), await agent('b')]"), run_id="r")
        found = await made.diff("r", bare("return [await agent('a'), await agent('c')]"))
    assert [step.what for step in found.anew] == ["c"]
    assert team.prompts == ["a", "b"]


async def test_a_model_writes_a_script() -> None:
    pytest.importorskip("langchain")
    from workflow_talk import Readers, Talk, run_of

    from interpstack_langchain.workflows import WorkflowMiddleware

    readers = Readers()
    body = "phase('Read')\nreturn parallel(args.map((file) => () => agent(`${file}`)))"
    async with WorkflowMiddleware(agents={"reader": readers}) as workflows:
        talk = Talk(workflows)
        args: Any = ["a", "fail b"]
        checked = await talk.do("check", source=bare(body), args=args)
        wrong = await talk.do("check", source=bare(body.replace("return", "let a = ;")), args=args)
        told = await talk.do("start", source=bare(body), args=args, wait_seconds=30)
    assert checked.startswith("no errors; nothing has run\nphases: Read\nwould call agent reader")
    assert "workflow.js:3:9: the module does not parse" in wrong
    assert "completed; 2 agents" in told
    assert told.splitlines()[-1] == 'result: ["echo: a",null]'
    assert readers.called == ["a", "fail b"]
    assert run_of(told).startswith("run_")
