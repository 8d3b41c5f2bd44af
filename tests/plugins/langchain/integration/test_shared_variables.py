"""A third party's mode whose variables all conversations of one user share."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs
import pytest
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from scripted import Script, answers

from interpstack import ConfigurationError, hookimpl
from interpstack_agents import ConversationContext, PersistenceScope
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_persistence.api import RecordedMode

KEY = b"at least sixteen bytes"
PAYS = "sum += 1; await tools.pay({}); sum += 10; sum"


class PerUser(RecordedMode):
    """Variables belong to the user, who is named in the configuration or in the context."""

    name: ClassVar[str] = "user"
    scope: ClassVar[PersistenceScope] = PersistenceScope.SHARED

    def shared_key(self, conversation: ConversationContext) -> str:
        if conversation.context is not None:
            return str(conversation.context["user"])
        user: str = conversation.config["user_id"]
        return user


class Modes:
    name = "modes"

    def __init__(self, *modes: Any) -> None:
        self.modes = list(modes)

    @hookimpl(optionalhook=True)
    def interpstack_register_persistence(self) -> list[Any]:
        return self.modes


@attrs.define
class World:
    """Agents of one database; each middleware stands for a process.

    Attributes:
        use_async: Whether the graph runs on an event loop.
        store: Shared by all processes.
        saver: Shared, too.
        paid: The calls of `pay`.
    """

    use_async: bool = True
    store: Any = attrs.field(factory=InMemoryStore)
    saver: Any = attrs.field(factory=InMemorySaver)
    paid: list[int] = attrs.field(factory=list)
    opened: list[CodeInterpreterMiddleware] = attrs.field(factory=list)

    def process(self, **options: Any) -> Any:
        """An agent in a process of its own."""

        @tool
        def pay() -> str:
            """Pay."""
            self.paid.append(1)
            return "paid"

        options = {"mode": "user", "snapshot_signing_key": KEY, "ptc": ["pay"], **options}
        plugins = [Modes(options.pop("cls", PerUser))]
        middleware = CodeInterpreterMiddleware(plugins=plugins, **options)
        self.opened.append(middleware)
        return create_agent(
            Script(),
            [pay],
            middleware=[middleware],
            checkpointer=self.saver,
            store=self.store,
        )

    async def send(self, agent: Any, given: Any, user: str, thread: str) -> Any:
        config = {"configurable": {"thread_id": thread, "user_id": user}}
        if self.use_async:
            return await agent.ainvoke(given, config)
        return await asyncio.to_thread(agent.invoke, given, config)

    async def turn(self, agent: Any, user: str, thread: str, *steps: Any) -> list[str]:
        """What the evals of one turn answered."""
        given = {"messages": [("user", json.dumps(steps))]}
        return [text(one) for one in answers(await self.send(agent, given, user, thread))]


def text(answer: str) -> str:
    return answer.removeprefix("<result>").removesuffix("</result>")


@pytest.fixture(params=[True, False], ids=["async", "sync"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    world = World(request.param)
    yield world
    for one in world.opened:
        one.close()


async def test_conversations_of_one_user_share_variables_and_others_do_not(world: World) -> None:
    agent = world.process()
    assert await world.turn(agent, "ann", "a1", "var sum = 1; const add = n => sum += n; sum") == [
        "1"
    ]
    assert await world.turn(agent, "ann", "a2", "add(1)", "add(1)") == ["2", "3"]
    assert await world.turn(agent, "ann", "a1", "sum") == ["3"]
    assert await world.turn(agent, "bob", "b1", "typeof sum") == ["undefined"]
    assert await world.turn(world.process(), "ann", "a3", "add(10)") == ["13"]
    assert await world.turn(agent, "ann", "a2", "sum") == ["13"]


async def test_a_conversation_without_an_eval_changes_nothing(world: World) -> None:
    agent = world.process()
    await world.turn(agent, "ann", "a1", "var sum = 1")
    await world.turn(agent, "ann", "a2")
    assert await world.turn(agent, "ann", "a2", "sum") == ["1"]


async def test_many_turns_of_many_conversations_see_each_other(world: World) -> None:
    agents = [world.process(), world.process()]
    await world.turn(agents[0], "ann", "a0", "var sum = 0")
    for number in range(1, 25):
        agent, thread = agents[number % 2], f"a{number % 5}"
        assert await world.turn(agent, "ann", thread, "++sum") == [str(number)]


async def test_a_thread_that_changes_hands_has_the_variables_of_its_new_user(world: World) -> None:
    agent = world.process()
    await world.turn(agent, "ann", "t", "var sum = 1")
    assert await world.turn(agent, "bob", "t", "typeof sum", "var sum = 5; sum") == [
        "undefined",
        "5",
    ]
    assert await world.turn(agent, "ann", "other", "sum") == ["1"]
    assert await world.turn(agent, "bob", "more", "sum") == ["5"]


async def test_an_eval_that_waits_goes_on_with_what_its_turn_began_with(world: World) -> None:
    agent = world.process(interrupt_on={"pay": True})
    await world.turn(agent, "ann", "a1", "var sum = 0")
    given = {"messages": [("user", json.dumps([PAYS]))]}
    paused = await world.send(agent, given, "ann", "a1")
    assert paused["__interrupt__"]
    assert await world.turn(agent, "ann", "a2", "sum += 100") == ["100"]
    decided = Command(resume={"decisions": [{"type": "approve"}]})
    result = await world.send(world.process(interrupt_on={"pay": True}), decided, "ann", "a1")
    assert [text(one) for one in answers(result)] == ["11"]
    assert world.paid == [1]


async def test_the_turn_that_ends_later_replaces_variables_and_the_log_says_so(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    agent = world.process(interrupt_on={"pay": True})
    await world.turn(agent, "ann", "a1", "var sum = 0")
    given = {"messages": [("user", json.dumps([PAYS]))]}
    await world.send(agent, given, "ann", "a1")
    await world.turn(agent, "ann", "a2", "sum += 100")
    caplog.clear()
    with caplog.at_level(logging.WARNING, "interpstack_langchain"):
        decided = Command(resume={"decisions": [{"type": "approve"}]})
        await world.send(agent, decided, "ann", "a1")
    assert (
        "thread a1 replaces shared variables that another conversation has changed" in caplog.text
    )
    assert await world.turn(agent, "ann", "a2", "sum") == ["11"]


class Breaks(Script):
    """A model that fails after its first eval."""

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        if messages[-1].type == "tool":
            raise OSError("the provider is down")
        return super()._generate(messages, *args, **kwargs)


async def test_the_changes_of_a_turn_that_failed_are_given_back_by_the_next_one(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    agent = world.process()
    await world.turn(agent, "ann", "a1", "var sum = 1")
    middleware = world.opened[0]
    failing = create_agent(
        Breaks(), [], middleware=[middleware], checkpointer=world.saver, store=world.store
    )
    for thread, conflict in (("a1", False), ("a2", True)):
        with pytest.raises(OSError, match="provider is down"):
            await world.turn(failing, "ann", thread, "sum += 1")
        if conflict:
            await world.turn(agent, "ann", "a3", "sum += 100")
        caplog.clear()
        wanted = "102" if conflict else "2"
        assert await world.turn(agent, "ann", thread, "sum") == [wanted]
        assert ("the changes of that turn are lost" in caplog.text) == conflict
    assert await world.turn(agent, "ann", "a4", "sum") == ["102"]


async def test_another_key_is_refused_and_the_store_keeps_the_variables(world: World) -> None:
    agent = world.process()
    await world.turn(agent, "ann", "a1", "var sum = 1")
    other = world.process(snapshot_signing_key=b"another key of sixteen")
    (said,) = await world.turn(other, "ann", "a2", "typeof sum")
    assert "Variables of earlier turns could not be restored" in said
    assert "signature" in said
    assert await world.turn(agent, "ann", "a3", "sum") == ["1"]


async def test_the_user_may_be_named_by_the_context() -> None:
    world = World()
    agent = create_agent(
        Script(),
        middleware=[CodeInterpreterMiddleware(mode="user", plugins=[Modes(PerUser)])],
        store=world.store,
        context_schema=dict,
    )

    async def turn(user: str, *steps: str) -> Any:
        given = {"messages": [("user", json.dumps(steps))]}
        return [text(a) for a in answers(await agent.ainvoke(given, context={"user": user}))]

    assert await turn("ann", "var sum = 1") == ["1"]
    assert await turn("ann", "sum") == ["1"], "no checkpointer is needed"
    assert await turn("bob", "typeof sum") == ["undefined"]


def test_the_prompt_says_who_sees_the_variables() -> None:
    class Own(PerUser):
        lifetime: ClassVar[str] = "Variables are those of the user, in all conversations."

    for cls, found in ((PerUser, "other conversations may use them"), (Own, Own.lifetime)):
        with CodeInterpreterMiddleware(mode="user", plugins=[Modes(cls)]) as middleware:
            assert found in middleware.tools[0].description


# -- wrong modes ---------------------------------------------------------------------------------


def _with(**fields: Any) -> type[PerUser]:
    return type("Wrong", (PerUser,), fields)


@pytest.mark.parametrize(
    ("cls", "found"),
    [
        (_with(scope="conversation"), "Wrong.scope must be one of 'call', 'turn', 'thread', 'shar"),
        (_with(scope=None), "Wrong.scope must be one of"),
        (_with(name=""), "Wrong.name must be a text"),
        (PerUser(), "returns a list of subclasses of Persistence; got"),
    ],
    ids=["scope", "no scope", "name", "instance"],
)
def test_a_mode_that_is_not_complete_is_refused(cls: Any, found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        CodeInterpreterMiddleware(mode="user", plugins=[Modes(cls)])


@pytest.mark.parametrize("key", ["", None, 7, "x" * 513])
async def test_a_key_that_is_none_is_refused_before_anything_runs(key: Any) -> None:
    world = World()
    agent = world.process(cls=_with(shared_key=lambda self, conversation: key))
    with pytest.raises(ConfigurationError, match="shared_key of the persistence mode 'user' has"):
        await world.turn(agent, "ann", "a1", "1")


async def test_shared_variables_need_a_store(world: World) -> None:
    world.store = None
    with pytest.raises(ConfigurationError, match=r"create_agent\(store=InMemoryStore\(\)"):
        await world.turn(world.process(), "ann", "a1", "1")


def test_shared_variables_do_not_go_with_cells_in_the_background() -> None:
    with pytest.raises(ConfigurationError, match="background=True does not go with mode='user'"):
        CodeInterpreterMiddleware(mode="user", plugins=[Modes(PerUser)], background=True)
