"""`interpstack workflow`: runs workflows, and follows, answers and ends their runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
import click

from interpstack import InterpreterStack
from interpstack_workflows.budgets.budget import BudgetLimits
from interpstack_workflows.commands.checking import (
    check_agents_of_run,
    check_agents_of_script,
    checked,
)
from interpstack_workflows.commands.ending import run_to_end
from interpstack_workflows.commands.live import progress
from interpstack_workflows.commands.options import (
    agents_named,
    host_modules,
    json_or_word,
    json_value,
    local_sandboxes,
    run_name,
    script_path,
)
from interpstack_workflows.commands.rendering import (
    console,
    print_result,
    run_table,
    run_tree,
    status_of,
    without_controls,
)
from interpstack_workflows.runs.runner import WorkflowRunner
from interpstack_workflows.stores.opening import STORE_URLS, open_store
from interpstack_workflows.stores.records import STATUSES

__all__ = ["command"]

_T = TypeVar("_T")

_database = click.option(
    "--db",
    "url",
    metavar="URL",
    default="workflows.db",
    show_default=True,
    help=f"The store of runs: {STORE_URLS}.",
)
_agents = click.option(
    "--agents",
    metavar="MODULE:ATTR",
    callback=agents_named,
    help="Agents by name, or one agent: async functions, graphs, runnables.",
)
_engine = click.option(
    "--engine", metavar="NAME", default="quickjs", show_default=True, help="The JavaScript engine."
)
_allow_exec = click.option(
    "--allow-exec",
    metavar="local/PROFILE=FOLDER",
    multiple=True,
    help="Let scripts run commands in a folder, by exec('local/PROFILE', …).",
)
_exec_commands = click.option(
    "--exec-command", metavar="NAME", multiple=True, help="A program that scripts may run there."
)
_exec_env = click.option(
    "--exec-env",
    metavar="NAME",
    multiple=True,
    help="A variable of this environment that these programs get.",
)
_worktrees = click.option(
    "--worktrees",
    metavar="FOLDER",
    help="A git repository: agents called with isolation: 'worktree' get worktrees of it.",
)
_prices = click.option(
    "--prices",
    metavar="JSON",
    callback=json_value,
    help="Prices per million tokens by model, or @FILE.",
)
_modules = click.option(
    "--module",
    "modules",
    metavar="SPECIFIER=FILE",
    multiple=True,
    callback=host_modules,
    help="A module that scripts may import, such as team:prompts=prompts.js.",
)
_workflows = click.option(
    "--workflows",
    metavar="FOLDER",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of workflows that scripts may call by name; may be repeated.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_json_lines = click.option(
    "--json", "as_json", is_flag=True, help="Print each event, and then the result, as a JSON line."
)


def _with_runner(
    use: Callable[[WorkflowRunner], Awaitable[_T]],
    url: str,
    *,
    engine: str = "quickjs",
    create: bool = False,
    **options: Any,
) -> _T:
    """Use a runner on the store of a URL; both are closed at the end.

    Args:
        use: Called with the runner.
        url: The URL of the store.
        engine: The engine of the runner.
        create: Whether the store may be new: only one who starts a run has no use for another.
        options: Everything else that the runner takes.
    """

    async def main() -> _T:
        store = open_store(url, create=create)
        try:
            async with WorkflowRunner(engine, store=store, **options) as runner:
                return await use(runner)
        finally:
            await store.aclose()

    return run_to_end(main())


@click.group("workflow")
def command() -> None:
    """Run workflow modules, which orchestrate agents.

    Exit status: 0 when a run has completed or waits, 1 when it failed or was cancelled, 2 when an
    option or a file is wrong.
    """


@command.command("check")
@click.argument(
    "files",
    metavar="FILE…",
    nargs=-1,
    required=True,
    callback=lambda c, o, v: [script_path(c, o, one) for one in v],
)
@_agents
@_engine
@_modules
@_workflows
def check(
    files: list[Path],
    agents: Mapping[str, Any],
    engine: str,
    modules: Mapping[str, Path],
    workflows: Sequence[Path],
) -> None:
    """Check metadata, imports, exports and children of workflow files; with --agents, agents too.

    Their code runs with made-up answers: no agent is called, no command runs.
    """
    with InterpreterStack(engine) as stack:
        for line in checked(files, stack, agents, modules, workflows):
            click.echo(without_controls(line))


@command.command("run")
@click.argument("file", callback=script_path)
@click.option(
    "--args",
    "args",
    metavar="JSON",
    callback=json_value,
    help="Arguments of the workflow, or @FILE.",
)
@_agents
@_database
@_engine
@click.option("--budget", type=click.IntRange(0), metavar="TOKENS", help="Limit of tokens.")
@click.option("--max-agents", type=click.IntRange(0), metavar="N", help="Limit of agent calls.")
@click.option("--max-cost", type=click.FloatRange(0), metavar="AMOUNT", help="Limit of cost.")
@click.option(
    "--wall",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Limit of the time since the run began.",
)
@click.option("--seed", type=int, help="Seed of the random numbers.")
@click.option(
    "--run-id",
    metavar="RUN",
    callback=run_name,
    help="The id of the run. [default: a new id]",
)
@_allow_exec
@_exec_commands
@_exec_env
@_worktrees
@_prices
@_modules
@_workflows
@_json_lines
def run(
    *,
    as_json: bool,
    file: Path,
    args: Any,
    url: str,
    budget: int | None,
    max_agents: int | None,
    max_cost: float | None,
    wall: float | None,
    seed: int | None,
    run_id: str | None,
    allow_exec: Sequence[str],
    exec_command: Sequence[str],
    exec_env: Sequence[str],
    **options: Any,
) -> None:
    """Run a workflow until it ends, or waits for an answer.

    Standard error shows the progress: a tree in a terminal, otherwise one line for each event.
    Standard output has the result, as JSON.
    """
    sandboxes = local_sandboxes(allow_exec, exec_command, exec_env)
    limits = BudgetLimits(tokens=budget, agents=max_agents, cost=max_cost)

    async def use(runner: WorkflowRunner) -> Any:
        return await runner.run(
            file, args, budget=limits, wall_seconds=wall, seed=seed, run_id=run_id
        )

    if not options["agents"]:  # before a new store is made
        note = _with_runner(
            lambda runner: check_agents_of_script(runner, file, args),
            "memory:",
            sandboxes=sandboxes,
            **options,
        )
        if note:
            click.echo(without_controls(note), err=True)
    with progress(as_json=as_json) as events:
        result = _with_runner(use, url, create=True, events=events, sandboxes=sandboxes, **options)
    print_result(result, one_line=as_json)
    sys.exit(status_of(result))


@command.command("resume")
@click.argument("run_id", metavar="RUN")
@_agents
@_database
@_engine
@click.option("--retry-failed", is_flag=True, help="Run failed steps again.")
@click.option(
    "--source",
    metavar="FILE",
    callback=lambda c, o, v: v and script_path(c, o, v),
    help="A changed script for the rest of the run.",
)
@click.option("--accept-changes", is_flag=True, help="Continue even if recorded steps are unused.")
@_allow_exec
@_exec_commands
@_exec_env
@_worktrees
@_prices
@_modules
@_workflows
@_json_lines
def resume(
    *,
    as_json: bool,
    run_id: str,
    url: str,
    retry_failed: bool,
    source: Path | None,
    accept_changes: bool,
    allow_exec: Sequence[str],
    exec_command: Sequence[str],
    exec_env: Sequence[str],
    **options: Any,
) -> None:
    """Continue a run where it stopped; progress and result are shown as by `run`."""
    sandboxes = local_sandboxes(allow_exec, exec_command, exec_env)
    if accept_changes and source is None:
        raise click.UsageError("--accept-changes is about a changed script; add --source FILE")

    async def use(runner: WorkflowRunner) -> Any:
        if not options["agents"] and (note := await check_agents_of_run(runner, run_id, source)):
            click.echo(without_controls(note), err=True)
        handle = await runner.resume(
            run_id, retry_failed=retry_failed, source=source, accept_changes=accept_changes
        )
        return await handle.rest()

    with progress(as_json=as_json) as events:
        result = _with_runner(use, url, events=events, sandboxes=sandboxes, **options)
    print_result(result, one_line=as_json)
    sys.exit(status_of(result))


@command.command("list")
@_database
@click.option("--status", type=click.Choice(STATUSES), help="Only runs with this status.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@_json
def list_runs(url: str, status: Any, limit: int, as_json: bool) -> None:
    """List runs, the newest first."""
    runs = list(_with_runner(lambda runner: runner.runs(status, limit), url))
    if as_json:
        shown = [{"runId": one.id, "name": one.name, "status": one.status} for one in runs]
        click.echo(json.dumps(shown, indent=2))
    else:
        terminal = console()
        terminal.print(run_table(runs, terminal.width) if runs else "There are no runs.")


@command.command("show")
@click.argument("run_id", metavar="RUN")
@_database
@_json
def show(run_id: str, url: str, as_json: bool) -> None:
    """Show a run: phases, agents and children, what it waits for, what it used, how it ended."""

    async def use(runner: WorkflowRunner) -> Any:
        waits: Any = await runner.waits(run_id)
        record = attrs.evolve(await runner.show(run_id), waiting_for=waits)
        return record, await runner.tree(run_id)

    record, tree = _with_runner(use, url)
    if as_json:
        left = ("source", "metadata")
        shown = attrs.asdict(record, filter=lambda field, _: field.name not in left)
        click.echo(json.dumps(shown, indent=2))
    else:
        console().print(run_tree(record, tree))


@command.command("patch")
@click.argument("run_id", metavar="RUN")
@_database
def patch(run_id: str, url: str) -> None:
    """Print the patches of agents that worked in worktrees, for `git apply`."""
    for found in _with_runner(lambda runner: runner.patches(run_id), url):
        if found["patch"] is None:
            click.echo(f"{found['title']}: its work is on the branch {found['branch']}", err=True)
        else:
            click.echo(found["patch"].encode("utf-8", "surrogateescape"), nl=False)


@command.command("diff")
@click.argument("run_id", metavar="RUN")
@click.argument("file", callback=script_path)
@_agents
@_database
@_modules
@_workflows
def diff(run_id: str, file: Path, url: str, **options: Any) -> None:
    """Compare a script with the records of a run; nothing runs, nothing is spent."""
    found = _with_runner(lambda runner: runner.diff(run_id, file), url, **options)
    for title, steps in (
        ("answered", found.answered),
        ("anew", found.anew),
        ("unused", found.unused),
    ):
        for step in steps:
            click.echo(without_controls(f"{title}: {step.kind} {step.what}"))
    sys.exit(0 if found.same else 1)


@command.command("cancel")
@click.argument("run_id", metavar="RUN")
@_database
def cancel(run_id: str, url: str) -> None:
    """End a run; its effects are not undone."""
    _with_runner(lambda runner: runner.cancel(run_id), url)
    click.echo(f"{run_id} was asked to end.")


@command.command("signal")
@click.argument("run_id", metavar="RUN")
@click.argument("name")
@click.argument("value", required=False, callback=json_or_word)
@_database
def signal(run_id: str, name: str, value: Any, url: str) -> None:
    """Send a signal, for which the script waits with wait(name).

    VALUE is JSON, @FILE, or a plain word.
    """

    async def use(runner: WorkflowRunner) -> list[str]:
        await runner.signal(run_id, name, value)
        record = await runner.show(run_id)
        waits = record.waiting_for if record.status == "waiting" else ()
        return [str(wait["signal"]) for wait in waits if wait.get("signal")]

    awaited = _with_runner(use, url)
    click.echo(without_controls(f"{run_id} has the signal {name}."))
    if awaited and name not in awaited:  # perhaps a misspelt name, perhaps one for later
        note = f"It waits for {', '.join(awaited)} now; {name} is queued for a later step."
        click.echo(without_controls(note), err=True)


@command.command("answer")
@click.argument("run_id", metavar="RUN")
@click.argument("words", metavar="[ID] VALUE", nargs=-1, required=True)
@_database
@click.pass_context
def answer(ctx: click.Context, run_id: str, words: tuple[str, ...], url: str) -> None:
    """Answer a question or an approval that a run waits for; `show` lists them.

    ID may be left out if only one is open. VALUE is JSON, @FILE, or a plain word, such as yes.
    """
    if len(words) > 2:
        raise click.UsageError(
            f"answer takes RUN, ID and VALUE, or RUN and VALUE; got {len(words) + 1} words; put a "
            "VALUE of several words in quotes",
            ctx,
        )
    value = json_or_word(ctx, ctx.command.params[1], words[-1])

    async def use(runner: WorkflowRunner) -> str:
        ask_id = words[0] if len(words) == 2 else await _open_question(runner, run_id)
        chosen = await _is_choice(runner, run_id, ask_id, words[-1])
        await runner.answer(run_id, ask_id, words[-1] if chosen else value)
        return ask_id

    click.echo(f"{run_id} has the answer to {_with_runner(use, url)}.")


async def _is_choice(runner: WorkflowRunner, run_id: str, ask_id: str, word: str) -> bool:
    """Return whether a word is a choice of a question, as `1` may be that is JSON, too."""
    asked = [one for one in await runner.questions(run_id) if one["id"] == ask_id]
    choices = ((asked[0].get("options") or {}) if asked else {}).get("choices")
    return isinstance(choices, list) and word in choices


async def _open_question(runner: WorkflowRunner, run_id: str) -> str:
    """Return the one question that a run waits for, or comes to while it is at work elsewhere."""
    asked = await runner.questions(run_id)
    # A question that has its answer takes the same one again, and refuses another one.
    found = [str(one["id"]) for one in asked if not one.get("answered") or len(asked) == 1]
    if len(found) != 1:
        raise click.UsageError(
            f"{run_id} has {len(found)} open questions"
            + (f"; name one of them: {', '.join(found)}" if found else ", so it takes no answer")
        )
    return found[0]
