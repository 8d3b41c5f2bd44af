"""The preset is a value: each of its plugins can be left out, replaced and moved."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from deepagents.backends import StateBackend
from langchain_core.tools import tool

from interpstack import (
    Bridge,
    BridgeRegistry,
    ConfigurationError,
    HostOffer,
    InterpreterStack,
    hookimpl,
)
from interpstack.plugins import load
from interpstack_accounts.api import Budget
from interpstack_langchain import PRESET, CodeInterpreterMiddleware
from interpstack_subagents.api import Subagents

#: Arguments without which an agent cannot do without a plugin.
_INSTEAD = {"persistence": {"mode": "call"}}
#: Code that shows whether a plugin of the preset works, and what an agent answers with and
#: without it.
_SHOWN = {
    "console": ("typeof console", "object", "undefined"),
    "ptc": ("typeof tools", "object", "undefined"),
}


class Stand:
    """A third party's plugin that does what another one does, and counts how often."""

    def __init__(self, role: str) -> None:
        self.name = f"my-{role}"
        self.asked = 0
        module = load(role)
        hooks = [name for name in vars(module) if name.startswith("interpstack_")]
        for name in (name for name in hooks if callable(getattr(module, name))):
            setattr(self, name, self._standing_for(getattr(module, name)))

    def _standing_for(self, function: Callable[..., Any]) -> Any:
        @functools.wraps(function)  # with the mark of a hook's implementation, and its options
        def stand(*args: Any, **kwargs: Any) -> Any:
            self.asked += 1
            return function(*args, **kwargs)

        return stand


@tool
def double(n: int) -> int:
    """Twice a number."""
    return 2 * n


@pytest.mark.parametrize("name", PRESET.names)
async def test_each_plugin_can_be_left_out(talk: Any, name: str) -> None:
    options = {**_INSTEAD.get(name, {}), "preset": PRESET.without(name)}
    code, _, without = _SHOWN.get(name, ("20 + 1", "", "21"))
    chat = talk(tools=[double], **options)
    assert await chat.run(code) == [f"<result>{without}</result>"]


@pytest.mark.parametrize("name", PRESET.names)
async def test_each_plugin_can_be_replaced(talk: Any, name: str) -> None:
    mine = Stand(name)
    code = "console.log('hi'); await tools.double({n: 21})"
    chat = talk(tools=[double], ptc=["double"], preset=PRESET.replace(name, mine))
    assert await chat.run(code) == ["<stdout>\nhi\n</stdout>\n<result>42</result>"]
    assert mine.asked > 0


class Greeting:
    """A plugin whose prompt section shows where it stands."""

    name = "greeting"

    @hookimpl
    def interpstack_prompt_section(self) -> str:
        return "# Greeting"


@pytest.mark.parametrize(
    ("preset", "first"),
    [
        (PRESET.with_(Greeting(), before="langchain"), "# Greeting"),
        (PRESET.with_(Greeting()), "# Code"),
    ],
)
def test_plugins_stand_where_the_preset_lists_them(preset: Any, first: str) -> None:
    with CodeInterpreterMiddleware(preset=preset) as middleware:
        sections = middleware.stack.prompt(middleware._interpreter.evals.offers.offer([]))
        assert sections.startswith("# Greeting") is (first == "# Greeting")
        assert "# Greeting" in sections


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"preset": PRESET.without("ptc"), "ptc": [double]}, "ptc needs the plugin 'ptc'"),
        (
            {"preset": PRESET.without("skills"), "skills_backend": StateBackend()},
            "skills_backend needs the plugin 'skills'",
        ),
        (
            {
                "preset": PRESET.without("durable"),
                "ptc": [double],
                "interrupt_on": {"double": True},
            },
            "interrupt_on needs durable=True and a plugin that records evals",
        ),
        (
            {"preset": PRESET.without("subagents"), "interrupt_on": {"task": True}},
            "interrupt_on names 'task', which code cannot call",
        ),
        (
            {
                "stack": InterpreterStack("quickjs", ["langchain", "persistence", "durable"]),
                "interrupt_on": {"task": True},
            },
            "interrupt_on names 'task', which code cannot call",
        ),
        (
            {"preset": PRESET.without("accounts"), "budget": Budget(requests=3)},
            "budget needs the plugin 'accounts'",
        ),
        ({"preset": PRESET.without("persistence")}, "pass mode='call'"),
        ({"preset": ["ptc"]}, "preset takes a Preset, such as"),
        ({"plugins": ["ptc"]}, "which the middleware adds itself"),
    ],
)
def test_arguments_that_need_a_plugin_say_so(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        CodeInterpreterMiddleware(**options)
    assert said in str(caught.value)


def test_a_plugin_in_the_place_of_subagents_may_need_approvals() -> None:
    async def send(to: str) -> str:
        return to

    class Sends:
        @hookimpl
        def interpstack_register_bridges(self, register: BridgeRegistry, offer: HostOffer) -> None:
            if offer.part(Subagents) is not None:
                register.bridge(Bridge(name="send", handler=send))

    preset = PRESET.replace("subagents", Sends())
    with CodeInterpreterMiddleware(preset=preset, interrupt_on={"task": True}) as interpreter:
        assert interpreter.options.subagents


def test_options_turn_off_the_plugin_in_a_role() -> None:
    mine = Stand("console")
    preset = PRESET.replace("console", mine)
    with CodeInterpreterMiddleware(preset=preset, capture_console=False) as middleware:
        assert "my-console" not in {info.name for info in middleware.stack.describe()}
    with CodeInterpreterMiddleware(preset=PRESET.without("durable"), durable=False) as middleware:
        assert not middleware.options.durable


def test_a_plugin_that_was_left_out_may_be_added_as_another() -> None:
    preset = PRESET.without("ptc")
    with CodeInterpreterMiddleware(preset=preset, plugins=["ptc"], ptc=[double]) as middleware:
        assert [info.name for info in middleware.stack.describe()][-1] == "ptc"


@pytest.mark.parametrize(("engine", "live"), [("quickjs", 32), ("process:quickjs", 8)])
async def test_as_many_conversations_stay_live(engine: str, live: int) -> None:
    """As many as turns may go on at once, where a conversation takes little memory."""
    async with CodeInterpreterMiddleware(engine=engine) as middleware:
        sessions = [middleware.stack.session(f"talk {number}") for number in range(live + 2)]
        for session in sessions:
            await session.eval("1")
        assert [session.live for session in sessions] == [False] * 2 + [True] * live
