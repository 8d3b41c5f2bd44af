"""`interpstack workflow`, from the first run to the last answer."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from git_repositories import git

from interpstack_cli import main
from interpstack_workflows.api import WorkflowRunner, open_store

_SOURCE = """
export const meta = { name: "shout", description: "Shouts words", phases: [{title: "Shout"}] };
export default async ({ words }) => {
  phase("Shout");
  log("words", words.length);
  const shouted = await parallel(words.map((word) => () => agent(word)));
  return { shouted, go: await ask("Go?") };
};
"""
_AGENTS = """
calls = []

async def shout(prompt):
    calls.append(prompt)
    if prompt == "bad":
        raise ValueError("no such word")
    return prompt.upper()

team = {"default": shout}
"""


_META = b"export const meta = {name: 'n', description: 'd', %s};\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shout.workflow.js").write_text(_SOURCE, "utf-8")
    (tmp_path / "notes.txt").write_text("These are notes, and no database of anything.", "utf-8")
    (tmp_path / f"team_{tmp_path.name.replace('-', '_')}.py").write_text(_AGENTS, "utf-8")
    return tmp_path


def team(folder: Path) -> str:
    return f"team_{folder.name.replace('-', '_')}:team"


def command(*args: str, status: int = 0, color: bool = False) -> Result:
    done = CliRunner().invoke(main, ["workflow", *args], catch_exceptions=False, color=color)
    assert done.exit_code == status, done.output
    return done


def result_of(done: Result) -> Any:
    return json.loads(done.stdout)


PRICED = """
from interpstack_workflows.api import AgentAnswer, WorkflowUsage


async def default(call):
    price = call.prices.find("acme-1")
    return AgentAnswer("ok", WorkflowUsage(output_tokens=1000, cost=price.cost(0, 1000)))
"""


def test_prices_make_costs(folder: Path) -> None:
    (folder / "priced.py").write_text(PRICED)
    prices = folder / "prices.json"
    prices.write_text('{"acme-*": {"input": 1, "output": 20}}')
    args = ["--args", '{"words": ["a"]}', "--agents", "priced:default", "--prices", f"@{prices}"]
    done = result_of(command("run", "shout.workflow.js", *args))
    assert done["usage"]["cost"] == pytest.approx(0.02 * done["usage"]["agents"])
    shown = command("show", done["runId"])
    assert "0.02 cost" in shown.stdout
    wrong = command("run", "shout.workflow.js", "--prices", '{"acme": 3}', status=2)
    assert "prices takes prices of a million tokens" in wrong.stderr


def test_a_run_waits_and_goes_on_with_its_answer(folder: Path) -> None:
    args = ["--args", '{"words": ["a", "b"]}', "--agents", team(folder)]
    done = command("run", "shout.workflow.js", *args, "--json")
    assert done.stderr == ""
    *events, waiting = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [event["type"].removeprefix("workflow.") for event in events]
    assert kinds[:3] == ["started", "phase", "log"]
    assert sorted(kinds[3:-2]) == ["agent_completed"] * 2 + ["agent_started"] * 2
    assert kinds[-2:] == ["wait", "waiting"]
    assert events[2]["message"] == "words 2"
    assert waiting["status"] == "waiting"
    (ask,) = waiting["waitingFor"]
    run_id = waiting["runId"]
    assert run_id in command("list").stdout
    assert "waits for" in command("show", run_id).stdout
    assert json.loads(command("show", run_id, "--json").stdout)["status"] == "waiting"
    assert "has the answer" in command("answer", run_id, ask["id"], '"yes"').stdout
    answered = command("show", run_id).stdout
    assert f"answered, not taken by the run yet: ask {ask['id']} Go?" in answered
    assert "waits for" not in answered
    (wait,) = json.loads(command("show", run_id, "--json").stdout)["waiting_for"]
    assert (wait["id"], wait["answered"]) == (ask["id"], True)
    ended = result_of(command("resume", run_id, "--agents", team(folder)))
    assert (ended["status"], ended["result"]) == (
        "completed",
        {"shouted": ["A", "B"], "go": "yes"},
    )
    assert ended["usage"]["agents"] == 2
    listed = json.loads(command("list", "--json", "--status", "completed").stdout)
    assert listed == [{"runId": run_id, "name": "shout", "status": "completed"}]


def test_a_named_run_with_one_question_needs_no_id_for_its_answer(folder: Path) -> None:
    args = ["--args", '{"words": ["a"]}', "--agents", team(folder), "--run-id", "mine"]
    (ask,) = result_of(command("run", "shout.workflow.js", *args))["waitingFor"]
    assert f"waits for ask {ask['id']} Go?" in command("show", "mine").stdout
    assert command("answer", "mine", '"yes"').stdout == f"mine has the answer to {ask['id']}.\n"
    ended = result_of(command("resume", "mine", "--agents", team(folder)))
    assert ended["result"] == {"shouted": ["A"], "go": "yes"}
    for wrong, message in (
        (["mine", "1"], "mine has 0 open questions, so it takes no answer"),
        (["mine", "1", "2", "3"], "answer takes RUN, ID and VALUE, or RUN and VALUE; got 4 words"),
        (["gone", "1"], "The store has no run 'gone'; its runs are: mine"),
        (
            ["mine", "{yes"],
            "takes JSON, such as '\"yes\"' or '[1, 2]', or @FILE; got '{yes'",
        ),
    ):
        assert message in command("answer", *wrong, status=2).stderr


def test_several_questions_are_answered_by_their_ids(folder: Path) -> None:
    (folder / "two.js").write_text(
        "export const meta = {name: 't', description: 'd'};"
        "export default () => Promise.all([ask('A?'), ask('B?')])",
        "utf-8",
    )
    first, second = result_of(command("run", "two.js", "--run-id", "two"))["waitingFor"]
    refused = command("answer", "two", "1", status=2).stderr
    assert f"two has 2 open questions; name one of them: {first['id']}, {second['id']}" in refused
    command("answer", "two", second["id"], "2")
    command("answer", "two", first["id"], "1")
    assert result_of(command("resume", "two"))["result"] == [1, 2]


def test_a_run_that_fails_has_status_1(folder: Path) -> None:
    (folder / "fails.js").write_text(
        "export const meta = {name: 'f', description: 'd'}; export default () => agent('bad')",
        "utf-8",
    )
    done = command("run", "fails.js", "--agents", team(folder), "--db", "memory:", status=1)
    failed = result_of(done)
    assert failed["status"] == "failed"
    assert "no such word" in failed["error"]["message"]


def test_a_budget_is_hard(folder: Path) -> None:
    args = ["--args", '{"words": ["a", "b", "c"]}', "--agents", team(folder)]
    done = command("run", "shout.workflow.js", *args, "--max-agents", "2", status=1)
    assert "the budget of the run is used up" in result_of(done)["error"]["message"]


def test_cancelling_a_run_that_waits(folder: Path) -> None:
    args = ["--args", '{"words": []}', "--agents", team(folder)]
    run_id = result_of(command("run", "shout.workflow.js", *args))["runId"]
    command("signal", run_id, "hurry", '{"n": 1}')
    command("cancel", run_id)
    ended = result_of(command("resume", run_id, "--agents", team(folder), status=1))
    assert ended["status"] == "cancelled"


def test_a_changed_script_is_compared(folder: Path) -> None:
    args = ["--args", '{"words": ["a"]}', "--agents", team(folder)]
    run_id = result_of(command("run", "shout.workflow.js", *args))["runId"]
    same = command("diff", run_id, "shout.workflow.js", "--agents", team(folder))
    assert "answered: agent a" in same.stdout
    changed = _SOURCE.replace("agent(word)", "agent(word + '!')")
    (folder / "changed.js").write_text(changed, "utf-8")
    other = command("diff", run_id, "changed.js", "--agents", team(folder), status=1)
    assert "unused: agent a" in other.stdout
    assert "anew: agent a!" in other.stdout


def test_texts_of_scripts_cannot_command_a_terminal(folder: Path) -> None:
    hostile = "\x1b]0;t\x07\u202e"
    meta = f"export const meta = {{name: 'n', description: 'd{hostile}'}};\n"
    (folder / "hostile.js").write_text(f"{meta}export default agent('a{hostile}')", "utf-8")
    ran = command("run", "hostile.js", "--run-id", "r", "--agents", team(folder))
    lines = [
        result.stdout
        for result in (
            command("check", "hostile.js", color=True),
            command("diff", "r", "hostile.js", "--agents", team(folder), color=True),
        )
    ]
    assert result_of(ran)["status"] == "completed"
    assert lines == ["hostile.js: n: d ]0;t  \n", "answered: agent a ]0;t  \n"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "workflow module must default export a workflow result or function"),
        (b"import fs from 'node:fs'; export default 1", "workflow imports are restricted; only "),
        (b"await import('x'); export default 1", "workflow imports are restricted; only workflow"),
        (b"throw new RangeError('now'); export default 1", "RangeError: now"),
    ],
)
def test_a_check_refuses_what_a_run_refuses(folder: Path, body: bytes, message: str) -> None:
    (folder / "wrong.js").write_bytes(_META % b"phases: []" + body)
    ran = result_of(command("run", "wrong.js", "--db", "memory:", status=1))["error"]["message"]
    assert message in ran
    (line,) = command("check", "wrong.js", status=2).stderr.splitlines()
    assert line == f"Error: wrong.js: {ran.splitlines()[0]}"


@pytest.mark.parametrize("engine", ["quickjs", "v8", "node"])
def test_a_check_needs_no_arguments_and_no_answers(folder: Path, engine: str) -> None:
    (folder / "fails.js").write_bytes(
        _META % b"phases: []" + b"export default ({ files }) => files.map((one) => agent(one))"
    )
    waits = b"const first = await agent('one'); export default first.length"
    (folder / "waits.js").write_bytes(_META % b"phases: []" + waits)
    done = command("check", "fails.js", "waits.js", "--engine", engine)
    assert done.stdout == "fails.js: n: d\nwaits.js: n: d\n"


def test_modules_of_the_host_are_named(folder: Path) -> None:
    (folder / "uses.js").write_bytes(
        b"import { hello } from 'team:words';" + _META % b"phases: []" + b"export default hello"
    )
    (folder / "words.js").write_text("export const hello = 'hello'", "utf-8")
    given = ["--module", "team:words=words.js"]
    done = result_of(command("run", "uses.js", "--run-id", "m", *given))
    assert done["result"] == "hello"
    assert command("check", "uses.js", *given).stdout == "uses.js: n: d\n"
    command("diff", "m", "uses.js", *given)
    assert "only workflow:extra and" in command("check", "uses.js", status=2).stderr
    for wrong, message in (
        (["--module", "words.js"], "takes SPECIFIER=FILE, each specifier once; got words.js"),
        ([*given, *given], "takes SPECIFIER=FILE, each specifier once; got team:words=words.js"),
        (["--module", "team:words=gone.js"], "the module 'team:words' cannot be read from gone.js"),
    ):
        assert message in command("check", "uses.js", *wrong, status=2).stderr


def test_a_check_knows_agents_and_other_workflows(folder: Path) -> None:
    body = b"export default agent('x', {agentType: 'nobody'})"
    (folder / "names.js").write_bytes(_META % b"phases: []" + body)
    assert command("check", "names.js").stdout == "names.js: n: d\n"
    refused = command("check", "names.js", "--agents", team(folder), status=2)
    assert refused.stderr == "Error: names.js:2: Unknown agent: nobody. Known agents: default\n"
    checked = command("check", "shout.workflow.js", "--agents", team(folder))
    assert checked.stdout == "shout.workflow.js: shout: Shouts words (Shout)\n"
    (folder / "calls.js").write_bytes(_META % b"phases: []" + b"export default workflow('gone')")
    refused = command("check", "calls.js", status=2)
    assert refused.stderr == "Error: calls.js:2: Unknown workflow: gone. Known workflows: none\n"
    for wrong, message in (
        ("team", "--agents team: takes MODULE:ATTR, as in"),
        ("no_such_module:team", "there is no module 'no_such_module', neither"),
        (team(folder) + "s", "it has: team, calls, shout"),
        (team(folder).replace(":team", ":calls"), "is not an agent"),
    ):
        refused = command("check", "names.js", "--agents", wrong, status=2)
        assert message in refused.stderr
        assert "Traceback" not in refused.stderr


def test_checking_a_file_runs_nothing(folder: Path) -> None:
    done = command("check", "shout.workflow.js")
    assert done.stdout == "shout.workflow.js: shout: Shouts words (Shout)\n"
    (folder / "no.js").write_text("throw new Error('this runs')", "utf-8")
    refused = command("check", "no.js", status=2)
    assert refused.stderr.startswith("Error: no.js: Workflow script must export valid literal ")
    wrong = _SOURCE.replace('words"', 'words", argsSchema: {type: "tuple"}', 1)
    (folder / "wrong.js").write_text(wrong, "utf-8")
    assert "meta.argsSchema is not a JSON Schema" in command("check", "wrong.js", status=2).stderr


def test_arguments_are_checked_against_the_schema_of_the_workflow(folder: Path) -> None:
    schema = 'words", argsSchema: {type: "object", required: ["words"]}'
    (folder / "strict.js").write_text(_SOURCE.replace('words"', schema, 1), "utf-8")
    refused = command("run", "strict.js", "--args", "{}", "--agents", team(folder), status=2)
    assert "do not match its argsSchema: $: 'words' is a required property" in refused.stderr


def test_commands_run_where_they_are_allowed(folder: Path) -> None:
    (folder / "runs.js").write_text(
        'import { exec } from "workflow:sandbox"\n'
        "export const meta = {name: 'r', description: 'd'};\n"
        "export default () => exec('local/here', {command: 'ls', args: ['-1']})",
        "utf-8",
    )
    refused = command("run", "runs.js", "--db", "memory:", status=1)
    assert "the runner has: none" in result_of(refused)["error"]["message"]
    allowed = ["--allow-exec", "local/here=.", "--exec-command", "ls", "--exec-env", "PATH"]
    done = result_of(command("run", "runs.js", *allowed))
    assert done["result"]["exitCode"] == 0
    assert "shout.workflow.js" in done["result"]["stdout"].splitlines()
    again = command("resume", done["runId"], *allowed)
    assert json.loads(again.stdout)["result"] == done["result"]


def test_agents_are_isolated_in_the_repository_that_is_named(folder: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "First")
    name = f"writer_{folder.name.replace('-', '_')}"
    (folder / f"{name}.py").write_text(
        "async def writer(call):\n    (call.cwd / 'new').write_text('n')\n    return 'done'\n",
        "utf-8",
    )
    (folder / "isolated.js").write_text(
        "export const meta = {name: 'i', description: 'd'};\n"
        "export default () => agent('write', {isolation: 'worktree'})",
        "utf-8",
    )
    done = command("run", "isolated.js", "--agents", f"{name}:writer", "--worktrees", ".")
    found = result_of(done)["result"]
    assert (found["value"], found["files"]) == ("done", ["new"])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"", "the module has no `export const meta = {…}`"),
        (b"\xff\xfe", "wrong.js is not UTF-8 text"),
        (b"export const meta = []", "meta must be an object literal"),
        (b"export const meta = {description: 'd'}", "name takes a string that is not empty"),
        (b"export const meta = {name: 'n'}", "description takes a string that is not empty"),
        (b"export const meta = {name: f()}", "meta takes a literal: objects, arrays, strings, "),
        (_META % b"whenToUse: 1", "whenToUse takes a string"),
        (_META % b"phases: 'x'", "phases takes an array of {title, detail?, model?, provider?}"),
        (_META % b"phases: [{name: 'x'}]", "phases[0] takes {title, detail?, model?, provider?}"),
        (_META % b"phasess: []", "there is no field phasess; did you mean phases?"),
        (_META % b"argSchema: {}", "there is no field argSchema; did you mean argsSchema?"),
        (_META % b"nmae: 1", "there is no field nmae; did you mean name?"),
        (_META % b"argsSchema: []", "argsSchema takes a JSON Schema, an object"),
        (_META % b"argsSchema: {type: 'tuple'}", "meta.argsSchema is not a JSON Schema"),
        (_META % b"" + b"export default (", "the module does not parse"),
    ],
)
def test_wrong_files_are_answered_in_one_line(folder: Path, source: bytes, message: str) -> None:
    (folder / "wrong.js").write_bytes(source)
    for args in (["check", "wrong.js"], ["run", "wrong.js", "--db", "memory:"]):
        (line,) = command(*args, status=2).stderr.splitlines()
        assert line.startswith("Error: ")
        assert message in line


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def (", "module '{}' cannot be imported: SyntaxError: invalid syntax"),
        (
            "raise RuntimeError('a\\nb')",
            "module '{}' cannot be imported: RuntimeError: a b ({}.py, line 1)",
        ),
        (
            "import sys\nsys.exit(3)",
            "module '{}' cannot be imported: SystemExit: 3 ({}.py, line 2)",
        ),
        (
            "import no_such_module",
            "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ("x = 1", "module '{}' has no 'team'"),
        ("team = {'a': 1}", "agent 'a': 1 is not an agent; pass an async function of the prompt"),
        ("def f(p): return p\nteam = f", "is not an agent; pass an async function of the prompt"),
        ("async def team(a, b): pass", "takes one argument, the prompt or the call"),
    ],
)
def test_wrong_agents_are_answered_in_one_line(folder: Path, source: str, message: str) -> None:
    module = f"wrong_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(source, "utf-8")
    done = command("run", "shout.workflow.js", "--agents", f"{module}:team", status=2)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert message.replace("{}", module) in last


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["check"], "Missing argument 'FILE…'"),
        (["check", "."], "File '.' not found."),
        (["check", "notes.txt"], "these end in .js, .mjs, .ts, .mts"),
        (["run", "shout.workflow.js", "more"], "Got unexpected extra argument (more)"),
        (["run", "shout.workflow.js", "--args", ""], "takes JSON, such as "),
        (["run", "shout.workflow.js", "--args", "NaN"], "NaN is not JSON"),
        (["run", "shout.workflow.js", "--args", '[{"n": 1, "n": 2}]'], "names the field 'n' twice"),
        (["answer", "run_a", '{"pay": "reject", "pay": "approve"}'], "names the field 'pay' twice"),
        (["run", "shout.workflow.js", "--args", "[" * 5000], "takes JSON, such as "),
        (["run", "shout.workflow.js", "--args", "@"], "cannot read '': Is a directory"),
        (
            ["run", "shout.workflow.js", "--agents", "..:x"],
            "--agents '..:x': takes MODULE or MODULE:ATTR",
        ),
        (["run", "shout.workflow.js", "--db", ""], "a store is named by memory:, a path, "),
        (
            ["run", "shout.workflow.js", "--db", "no/x.db"],
            "cannot be used: there is no folder 'no'; make it",
        ),
        (["run", "shout.workflow.js", "--db", "notes.txt"], "file is not a database"),
        (["run", "shout.workflow.js", "--engine", "nod"], "unknown engine 'nod'; known: "),
        (
            ["run", "shout.workflow.js", "--budget", "much"],
            "takes a whole number of tokens from 0, such as 30; got 'much'",
        ),
        (["run", "shout.workflow.js", "--max-cost", "nan"], "cost takes a number, 0 or more"),
        (["run", "shout.workflow.js", "--wall", "inf"], "wall_seconds takes a number above 0"),
        (
            ["run", "shout.workflow.js", "--wall", "0"],
            "takes a number of seconds above 0, such as 30; got 0.0",
        ),
        (["run", "shout.workflow.js", "--seed", "x"], "takes a whole number, such as 30; got 'x'"),
        (["run", "shout.workflow.js", "--run-id", "a/b"], "1 to 200 letters, digits, '-'"),
        (["run", "shout.workflow.js", "--run-id", ""], "1 to 200 letters, digits, '-'"),
        (["run", "shout.workflow.js", "--budgett", "1"], "Did you mean '--budget'?"),
        (["runn"], "Did you mean 'run'?"),
        (["list", "--limit", "0"], "takes a whole number from 1, such as 30; got 0"),
        (["resume", "run_x"], "The store has no run 'run_x'; its runs are: none"),
        (["resume", "run_x", "--source", "gone.js"], "File 'gone.js' not found."),
        (["diff", "run_x", "shout.workflow.js"], "The store has no run 'run_x'"),
        (["cancel", "run_x"], "The store has no run 'run_x'"),
        (["signal", "run_x", "go", "{"], "takes JSON, such as "),
        (["answer", "run_x"], "Missing argument '[ID] VALUE'"),
        (["run", "gone.js"], "File 'gone.js' not found."),
        (["run", "shout.workflow.js", "--args", "{"], "takes JSON, such as "),
        (["run", "shout.workflow.js", "--args", "@gone"], "cannot read 'gone': No such file"),
        (
            ["run", "shout.workflow.js", "--agents", "team"],
            "--agents team: takes MODULE:ATTR, as in",
        ),
        (
            ["run", "shout.workflow.js", "--agents", "no_mod:x"],
            "there is no module 'no_mod', neither",
        ),
        (
            ["run", "shout.workflow.js", "--agents", "json:x"],
            "module 'json' has no 'x'; it has: ",
        ),
        (
            ["run", "shout.workflow.js", "--db", "redis:x"],
            "a RedisStore cannot keep runs: it has no logs",
        ),
        (["run", "shout.workflow.js", "--engine", "monty"], "workflows are JavaScript modules"),
        (
            ["run", "shout.workflow.js", "--budget", "-1"],
            "takes a whole number of tokens from 0, such as 30; got -1",
        ),
        (["show", "run_x"], "The store has no run 'run_x'; its runs are: none"),
        (["run", "shout.workflow.js", "--allow-exec", "local/a=."], "--exec-command NAME go"),
        (["run", "shout.workflow.js", "--worktrees", "."], "is not a git repository; name one"),
        (["list", "--status", "done"], "'done' is not one of"),
        (["list", "--db", "gone.db"], "database gone.db not found. A run creates it"),
        (["resume", "run_x", "--db", "gone.db"], "database gone.db not found. A run creates it"),
    ],
)
def test_wrong_input_is_answered_in_one_line(folder: Path, args: list[str], message: str) -> None:
    (folder / "workflows.db").touch()
    done = CliRunner().invoke(main, ["workflow", *args], catch_exceptions=False)
    assert done.exit_code == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    assert message in last


def test_an_empty_answer_is_no_answer(folder: Path) -> None:
    refused = command("answer", "run_x", "", status=2)
    assert "got an empty text, which as a value is '\"\"'" in refused.stderr


def test_a_signal_that_no_step_waits_for_is_named(folder: Path) -> None:
    (folder / "w.workflow.js").write_bytes(_META % b"" + b"export default () => wait('go')")
    command("run", "w.workflow.js", "--run-id", "mine")
    sent = command("signal", "mine", "og", "1")
    assert sent.stderr == "It waits for go now; og is queued for a later step.\n"
    assert command("signal", "mine", "go", "1").stderr == ""


def test_changes_are_accepted_of_a_script_alone(folder: Path) -> None:
    refused = command("resume", "run_x", "--accept-changes", status=2)
    assert "--accept-changes is about a changed script; add --source FILE" in refused.stderr


def test_an_answer_and_a_signal_may_be_a_plain_word(folder: Path) -> None:
    (folder / "asks.workflow.js").write_text(
        'export const meta = { name: "asks", description: "d" };\n'
        "export default async () => [\n"
        '  await ask("Ship it?", { choices: ["yes", "no"] }),\n'
        '  await ask("Which?", { choices: ["1", "2"] }),\n'
        '  await ask("How?"), await ask("More?"), await wait("s"),\n'
        "];\n"
    )
    command("run", "asks.workflow.js", "--run-id", "mine")
    for word in ("yes", "1", "in two steps", "3"):
        assert "mine has the answer to" in command("answer", "mine", word).stdout
        command("resume", "mine")
    command("signal", "mine", "s", "now")
    ended = result_of(command("resume", "mine"))
    assert ended["result"] == ["yes", "1", "in two steps", 3, "now"]


@pytest.mark.parametrize("value", ['{"a": ', "[1,", '"yes', "@missing"])
def test_what_begins_as_json_has_to_be_json(folder: Path, value: str) -> None:
    done = command("answer", "mine", value, status=2)
    assert "takes JSON" in done.stderr or "cannot read" in done.stderr


def test_check_names_what_a_script_lacks(folder: Path) -> None:
    (folder / "open.workflow.js").write_text(
        'export const meta = { name: "x", description: "d" };\n'
        'export default async () => {\n  const a = await agent("hi";\n  return a;\n};\n'
    )
    done = command("check", "open.workflow.js", status=2)
    assert "open.workflow.js:3:29: " in done.stderr
    assert "Expected `,` or `)` but found `;`" in done.stderr


def test_a_run_without_the_agents_that_it_needs_does_not_start(folder: Path) -> None:
    args = ["--args", '{"words": ["a"]}', "--run-id", "mine"]
    done = command("run", "shout.workflow.js", *args, status=2)
    assert "shout.workflow.js calls an agent, for 'a', and none is given; name the agents with" in (
        done.stderr
    )
    assert not (folder / "workflows.db").exists()
    none = result_of(command("run", "shout.workflow.js", "--args", '{"words": []}'))
    assert none["status"] == "waiting"


def test_a_run_that_may_come_to_an_agent_says_so_and_starts(folder: Path) -> None:
    (folder / "may.workflow.js").write_text(
        'export const meta = { name: "may", description: "d" };\n'
        'export default async () => (await ask("Go?")) === "no" ? 1 : agent("go");\n'
    )
    done = command("run", "may.workflow.js", "--run-id", "mine")
    assert "calls an agent, for 'go', perhaps, and none is given" in done.stderr
    command("answer", "mine", "yes")
    failed = command("resume", "mine", status=1)
    assert "mine may call agents, and none is given: they would fail" in failed.stderr
    ended = result_of(command("resume", "mine", "--retry-failed", "--agents", team(folder)))
    assert ended["result"] == "GO"


def test_a_run_that_calls_an_agent_next_is_not_resumed_without_any(folder: Path) -> None:
    async def stop_in_its_agent() -> None:
        called = asyncio.Event()

        async def agent(prompt: str) -> None:
            called.set()
            await asyncio.Event().wait()

        store = open_store("workflows.db")
        async with WorkflowRunner(agents={"default": agent}, store=store) as runner:
            given = {"words": ["go"]}
            await runner.start(Path("shout.workflow.js"), given, run_id="mine")
            await called.wait()
        await store.aclose()

    asyncio.run(stop_in_its_agent())
    refused = command("resume", "mine", status=2)
    assert "mine calls an agent next, for 'go', and none is given" in refused.stderr
    ended = result_of(command("resume", "mine", "--agents", team(folder)))
    assert ended["status"] == "waiting"


def test_dropped_failures_of_a_completed_run_are_tried_again(folder: Path) -> None:
    (folder / "drops.workflow.js").write_text(
        'export const meta = { name: "drops", description: "d" };\n'
        'export default async () => parallel([() => agent("a"), () => agent("bad")]);\n'
    )
    command("run", "drops.workflow.js", "--agents", team(folder), "--run-id", "mine")
    (folder / "well.py").write_text("async def team(prompt):\n    return prompt * 2\n")
    ended = result_of(command("resume", "mine", "--retry-failed", "--agents", "well:team"))
    assert (ended["status"], ended["result"]) == ("completed", ["A", "badbad"])
