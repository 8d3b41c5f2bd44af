"""`interpstack demo`: a deep agent that answers from the real files of a folder."""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from rich.console import Console
from rich.live import Live
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import interpstack
from interpstack import ConfigurationError
from interpstack_cli.api import printable, standard_output
from interpstack_demo.chosen_model import chosen_model, no_answer
from interpstack_demo.files import MAX_FILES, folder_tools, survey
from interpstack_demo.model import ScriptedModel
from interpstack_demo.streams import is_call, messages_of
from interpstack_demo.tally import Tally
from interpstack_demo.workflow.run import WorkflowModels, run_workflow
from interpstack_demo.workflow.scripted import ScriptedReader, ScriptedWriter
from interpstack_javascript import JAVASCRIPT
from interpstack_langchain import CodeInterpreterMiddleware

__all__ = ["command", "run_demo"]

_QUESTION = (
    "Look at all files of this folder. How many files, lines and characters are there in all and "
    "by file type, which five files are the longest, and which words are the most frequent? "
    "Read the files in code, in parallel."
)


@click.command()
@click.argument(
    "folder",
    required=False,
    type=click.Path(exists=True, file_okay=False, readable=True, path_type=Path),
)
@click.option(
    "--model",
    metavar="PROVIDER:NAME",
    help="A real model, for LangChain's init_chat_model. Default: a scripted model, offline.",
)
@click.option("--workflow", is_flag=True, help="Run a workflow of several agents instead.")
def command(folder: Path | None, model: str | None, workflow: bool) -> None:
    """Let a deep agent answer questions about the files of FOLDER, with code.

    FOLDER defaults to the installed package's own source.
    """
    folder = (folder or Path(interpstack.__file__).parent).resolve()
    console = Console(file=standard_output())
    if not survey(folder)[0]:
        raise ConfigurationError(f"{folder} has no text files to read; name another FOLDER")
    if workflow:
        _demo_workflow(folder, model, console)
        return
    chosen = ScriptedModel() if model is None else chosen_model(model)
    try:
        tally = run_demo(folder, chosen, console)
    except Exception as error:
        if model is None:  # the scripted model makes no network call
            raise
        raise no_answer(model, error) from error
    if not tally.answer:
        raise ConfigurationError("the model gave no answer; try again, or another --model")


def _demo_workflow(folder: Path, name: str | None, console: Console) -> None:
    if find_spec("jsonschema") is None:
        raise ConfigurationError(
            "--workflow holds the answers of agents to JSON Schemas, and the package for them is "
            "not installed; run: pip install 'interpstack[workflows]'"
        )
    if name is None:
        models = WorkflowModels(ScriptedReader(), ScriptedWriter())
    else:
        chosen = chosen_model(name)
        models = WorkflowModels(chosen, chosen)
    _, result = run_workflow(folder, models, console)
    if result.status == "completed":
        return
    error = result.error or {}
    text = f"{error.get('name')}: {error.get('message')}"
    if name is None:
        raise ConfigurationError(f"the workflow failed: {text}")
    raise no_answer(name, text)


def run_demo(folder: Path, model: BaseChatModel, console: Console) -> Tally:
    """Run the agent, showing its code and the calls the code makes.

    Args:
        folder: Whose files it may read.
        model: Writes the code.
        console: Prints progress, answer and summary.
    """
    tally = Tally()
    tools = folder_tools(folder, tally)
    agent = create_deep_agent(
        model=model,
        tools=tools,
        backend=FilesystemBackend(root_dir=folder, virtual_mode=True),
        middleware=[
            CodeInterpreterMiddleware(
                ptc=[tool.name for tool in tools],
                max_ptc_calls=MAX_FILES + 100,
                max_result_chars=50_000,
                timeout=30.0,
            )
        ],
    )
    console.print(Text.assemble(("Folder ", "bold"), str(folder)))
    console.print(Text.assemble(("Question ", "bold"), _QUESTION))
    begun = time.monotonic()
    with Live(console=console, transient=True, refresh_per_second=12) as live:
        question: Any = {"messages": [{"role": "user", "content": _QUESTION}]}
        for kind, data in agent.stream(question, stream_mode=["custom", "updates"]):
            if kind == "custom":
                _show_call(data, tally, live)
            else:
                for message in messages_of(data):
                    _show_message(message, tally, console)
    console.print(Markdown(printable(tally.answer)))
    for one in tally.left_out:
        console.print(Text(printable(f"Left out: {one}"), "yellow"))
    console.print(_summary(tally, time.monotonic() - begun))
    return tally


def _show_call(event: Any, tally: Tally, live: Live) -> None:
    if not isinstance(event, dict) or event.get("type") != "tool":
        return
    number = tally.add_call() if is_call(event) else tally.inner_calls
    live.update(
        Text(printable(f"  call {number}: {event['tool']} {event.get('input', '')}"), "dim")
    )


def _show_message(message: Any, tally: Tally, console: Console) -> None:
    if isinstance(message, AIMessage):
        tally.add_turn(message.text)
        for call in message.tool_calls:
            code = call["args"].get("code")
            if code is not None:
                tally.add_eval()
                console.print(_shown_code(code))
    elif isinstance(message, ToolMessage):
        tally.add_result(message.text)
        colour = "green" if message.status == "success" else "red"
        console.print(Text(printable(message.text), colour))


def _shown_code(code: str) -> Syntax:
    """The whole code; long lines are wrapped."""
    shown = printable(code.strip())
    return Syntax(shown, JAVASCRIPT.name, background_color="default", word_wrap=True)


def _summary(tally: Tally, seconds: float) -> Table:
    table = Table(title="What it took", show_header=False)
    table.add_column("")
    table.add_column("", justify="right")
    table.add_row("model turns", str(tally.model_turns))
    table.add_row("evals", str(tally.evals))
    table.add_row("inner calls", str(tally.inner_calls))
    table.add_row("characters read by code", f"{tally.chars_read:,}")
    table.add_row("characters the model read", f"{tally.chars_seen:,}")
    table.add_row("kept out of the context", f"{max(0, tally.chars_read - tally.chars_seen):,}")
    table.add_row("seconds", f"{seconds:.1f}")
    return table
