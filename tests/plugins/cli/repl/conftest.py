"""A REPL's shell, and keys typed into it."""

from __future__ import annotations

import asyncio

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from interpstack import HostOffer, HostTool, InterpreterStack, bridge
from interpstack_cli.repl.command import converse
from interpstack_cli.repl.editor import Editor
from interpstack_cli.repl.shell import Shell
from interpstack_javascript import JAVASCRIPT

CTRL_C, CTRL_D, ALT_ENTER = "\x03", "\x04", "\x1b\r"


@bridge("tools.readFile")
def read_file(path: str, size: int = 3) -> str:
    """Read a file.

    More of it.
    """
    return path[:size]


async def _nothing(given, context):
    return None


@pytest.fixture
def shell():
    schema = {"properties": {"text": {}, "limit": {}}, "required": ["text"]}
    tool = HostTool(name="web_search", call=_nothing, description="Search.", input_schema=schema)
    stack = InterpreterStack(plugins=["console", "ptc"], bridges=[read_file])
    with stack, asyncio.Runner() as runner, stack.session() as session:
        session.bind(HostOffer(tools=[tool]))
        made = Shell(stack, session, runner)
        made.plain = False
        yield made


@pytest.fixture
def type_in(shell):
    """Type text at the prompt, then Ctrl-D."""

    def type_in(text: str) -> None:
        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            keys.send_text(text + CTRL_D)
            converse(shell, Editor(JAVASCRIPT))

    return type_in
