"""A language unknown to the project, brought by a plugin: everything that speaks of code speaks it.

The engine is the reference engine, under the name of another language.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from scripted import Script, answers

from interpstack import (
    Capability,
    ConfigurationError,
    GuestLanguage,
    HostOffer,
    HostTool,
    InterpreterStack,
    PromptWords,
    hookimpl,
)
from interpstack_cli.repl.shell import Shell
from interpstack_cli.running.sources import read_file
from interpstack_cli.running.tools import load_tools
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_skills.api import Skills
from interpstack_subagents.api import Subagents
from interpstack_testing import FakeEngine

#: What only the languages that the project brings would say.
_FOREIGN = ("JavaScript", "javascript", "Python", "python", "await", "Promise", "asyncio", "const ")


class Shouting(GuestLanguage):
    """Names in capitals, calls between angle brackets."""

    def identifier(self, name: str) -> str:
        return name.upper().replace("-", "_")

    def call(self, function: str, fields: Mapping[str, str]) -> str:
        return f"<{function} {' '.join(f'{name}={value}' for name, value in fields.items())}>"

    def usage(self, function: str, fields: Mapping[str, bool]) -> str:
        return self.call(function, {name: "!" if must else "?" for name, must in fields.items()})

    def signature(self, name: str, tool: HostTool) -> str:
        return f"SHOUT {name}: {tool.description}"


SHOUTING = Shouting(
    name="shouting",
    title="Shouting",
    aliases=("loud",),
    endings=(".loud",),
    words=PromptWords(
        cells="SHOUT ALL WORDS.",
        calling="SHOUT THE ARGUMENTS.",
        waiting="{call}!",
        together="SHOUT TOGETHER.",
        failing="A FAILED CALL IS SILENT.",
        each="{function}!!!",
        importing='BRING "{specifier}"',
        printing="`SAY`",
    ),
    module_endings=(".loud",),
    module_entries=("first.loud",),
)


class ShoutingEngine(FakeEngine):
    """The reference engine, whose cells count as another language."""

    name = "shouting"
    language = "shouting"
    capabilities = FakeEngine.capabilities | {Capability.MODULES}


class ShoutingPlugin:
    """The plugin of the engine, as a third party would write it."""

    name = "shouting"

    @hookimpl
    def interpstack_register_engine(self) -> type[ShoutingEngine]:
        return ShoutingEngine

    @hookimpl
    def interpstack_register_language(self) -> GuestLanguage:
        return SHOUTING


async def _echo(value: Any, context: Any) -> Any:
    return value


SEARCH = HostTool(name="web-search", call=_echo, description="Find pages.")
PLUGINS = [ShoutingPlugin(), "console", "ptc", "subagents", "skills"]


@pytest.fixture
def stack() -> Iterator[InterpreterStack]:
    with InterpreterStack("shouting", PLUGINS) as made:
        yield made


@pytest.fixture
def offer(tmp_path: Path) -> HostOffer:
    folder = tmp_path / "skills" / "sums"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: sums\n---\n")
    (folder / "first.loud").write_text("SUM")
    (folder / "index.js").write_text("export default 1")
    parts = [Subagents(dispatch=_dispatch), Skills(tmp_path / "skills")]
    return HostOffer(tools=[SEARCH], parts=parts)


async def _dispatch(wanted: Any, context: Any) -> Any:
    return [wanted.description, wanted.subagent_type]


def test_the_stack_has_the_language_of_its_engine(stack: InterpreterStack) -> None:
    assert stack.language is SHOUTING


def test_every_section_of_the_prompt_is_in_the_language(
    stack: InterpreterStack, offer: HostOffer
) -> None:
    text = stack.prompt(offer)
    for part in (
        "Output of `SAY` is returned",
        "SHOUT THE ARGUMENTS.",
        "- SHOUT TOGETHER.",
        "- A FAILED CALL IS SILENT.",
        "SHOUT WEB_SEARCH: Find pages.",
        "`<task DESCRIPTION=! SUBAGENT_TYPE=! LABEL=? RESPONSE_SCHEMA=?>!` runs a subagent",
        "jobs in parallel: `task!!!`",
        "With `RESPONSE_SCHEMA`",
        '`BRING "@/skills/<name>"` gives',
    ):
        assert part in text
    assert [word for word in _FOREIGN if word in text] == []


async def test_names_and_fields_are_in_the_language(
    stack: InterpreterStack, offer: HostOffer
) -> None:
    async with stack.session() as session:
        session.bind(offer)
        assert {"tools.WEB_SEARCH", "tools._search", "task"} <= set(stack.bridge_set(offer).bridges)
        called = await session.eval("await tools.WEB_SEARCH(text='x')")
        assert (called.error, called.text) == (None, "{'text': 'x'}")
        done = await session.eval("await task(DESCRIPTION='d', SUBAGENT_TYPE='s')")
        assert (done.error, done.text) == (None, "['d', 's']")
        for code, example in (
            ("tools.WEB_SEARCH(3)", "as in <tools.WEB_SEARCH field=3>"),
            ("task(3)", 'as in <task DESCRIPTION="…" SUBAGENT_TYPE="…">'),
        ):
            error = (await session.eval(f"await {code}")).error
            assert error is not None
            assert example in error.message


async def test_skills_are_files_of_the_language(stack: InterpreterStack, offer: HostOffer) -> None:
    async with stack.session() as session:
        session.bind(offer)
        load = stack.hook.interpstack_resolve_module(specifier="@/skills/sums", session=session)
        bundle = await load()
    assert bundle.entry == "@/skills/sums/first.loud"
    assert list(bundle.files) == [bundle.entry]


def test_the_model_of_an_agent_reads_of_the_language() -> None:
    @tool("web-search")
    def search(text: str) -> str:
        """Find pages."""
        return text

    interpreter = CodeInterpreterMiddleware(
        engine="shouting", plugins=[ShoutingPlugin()], ptc=["web-search"]
    )
    model = Script()
    with interpreter:
        agent = create_agent(model, [search], middleware=[interpreter])
        asked = "[\"await tools.WEB_SEARCH(text='x')\"]"
        state = agent.invoke({"messages": [("user", asked)]})
        assert answers(state) == ["<result>x</result>"]
    system = model.seen[0][0].text
    assert "runs Shouting in a sandbox" in system
    assert "- SHOUT ALL WORDS." in system
    assert "SHOUT WEB_SEARCH: Find pages." in system
    assert [word for word in _FOREIGN if word in system] == []
    (found,) = interpreter.tools
    assert found.description.startswith("Run Shouting in a sandbox")
    assert found.args_schema.model_fields["code"].description.startswith("Shouting to run.")
    assert found.metadata == {"ls_code_input_language": "shouting"}


def test_the_command_line_takes_files_and_functions_of_the_language(
    stack: InterpreterStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.loud").write_text("1")
    (tmp_path / "a.quiet").write_text("1")
    assert read_file(str(tmp_path / "a.loud"), stack).language == "shouting"
    with pytest.raises(ConfigurationError, match=r"use one of \.loud, "):
        read_file(str(tmp_path / "a.quiet"), stack)
    (tmp_path / "loud_tools.py").write_text("def read_price(item: str) -> str: return item\n")
    monkeypatch.chdir(tmp_path)
    (bridge,) = load_tools(["loud_tools:read_price"], stack.language).bridges
    assert bridge.name == "tools.READ_PRICE"


def test_the_repl_speaks_the_language(
    stack: InterpreterStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with asyncio.Runner() as runner, stack.session() as session:
        session.bind(HostOffer(tools=[SEARCH]))
        shell = Shell(stack, session, runner)
        assert shell.feed("6 * 7")
        assert not shell.feed(f".save {tmp_path / 'a.js'}")
        assert "takes a name that ends in .loud" in capsys.readouterr().err
        assert shell.feed(f".save {tmp_path / 'a.loud'}")
        assert shell.feed(".tools")
    assert "<tools.WEB_SEARCH >  Find pages." in capsys.readouterr().out
