"""Agents with a model that runs the code it is told to, and the stores they keep their state in."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
from deepagents.backends import StateBackend
from deepagents.middleware import SubAgentMiddleware
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import Field

from interpstack_langchain import CodeInterpreterMiddleware

#: One model message: the code of one eval, or of several.
Step = str | list[str]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "load: takes minutes; runs when INTERPSTACK_LOAD=1 is set")


class Script(BaseChatModel):
    """Runs the steps that the user's message lists as JSON, then answers.

    It has no state of its own, so that any number of conversations in any process can share it.
    A message that lists no steps is answered with `heard: <message>`.
    """

    seen: list[list[BaseMessage]] = Field(default_factory=list)
    bound: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Script:
        self.bound[:] = tools
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen[:] = [messages]
        return ChatResult(generations=[ChatGeneration(message=_reply(messages))])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)


def _reply(messages: list[BaseMessage]) -> AIMessage:
    start = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
    asked = messages[start].text
    if not asked.startswith("["):
        return AIMessage(f"heard: {asked}")
    steps = json.loads(asked)
    done = sum(isinstance(m, AIMessage) for m in messages[start:])
    if done >= len(steps):
        return AIMessage("done")
    codes = [steps[done]] if isinstance(steps[done], str) else steps[done]
    calls = [
        {"name": "eval", "args": {"code": code}, "id": uuid.uuid4().hex, "type": "tool_call"}
        for code in codes
    ]
    return AIMessage("", tool_calls=calls)


def answers(state: Any) -> list[str]:
    """What the evals of the last turn answered, in the order of the model's calls."""
    messages = state["messages"]
    last = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
    turn = messages[last:]
    texts = {m.tool_call_id: m.text for m in turn if isinstance(m, ToolMessage)}
    calls = [call["id"] for m in turn if isinstance(m, AIMessage) for call in m.tool_calls]
    return [texts[call] for call in calls if call in texts]


@attrs.define
class Conversations:
    """One agent, and the ways to talk to it."""

    agent: Any
    model: Script
    middleware: CodeInterpreterMiddleware
    is_async: bool = True

    async def send(self, given: Any, config: Any) -> Any:
        """Invoke the graph as the checkpointer wants it."""
        if self.is_async:
            return await self.agent.ainvoke(given, config)
        return await asyncio.to_thread(self.agent.invoke, given, config)

    async def turn(self, *steps: Step, thread: str = "t", config: Any = None) -> Any:
        """One turn; the graph's state after it."""
        config = config or {"configurable": {"thread_id": thread}}
        return await self.send({"messages": [("user", json.dumps(steps))]}, config)

    async def run(self, *steps: Step, thread: str = "t", config: Any = None) -> list[str]:
        """One turn; what the evals answered."""
        return answers(await self.turn(*steps, thread=thread, config=config))

    async def one(self, code: str, **kwargs: Any) -> str:
        """One turn of one eval; its answer."""
        return (await self.run(code, **kwargs))[0]

    async def history(self, thread: str = "t") -> list[Any]:
        """Checkpoints at which a turn had ended, oldest first."""
        config = {"configurable": {"thread_id": thread}}
        if self.is_async:
            found = [state async for state in self.agent.aget_state_history(config)]
        else:
            found = await asyncio.to_thread(lambda: list(self.agent.get_state_history(config)))
        return [state for state in reversed(found) if not state.next and state.values]


MakeConversations = Callable[..., Conversations]


@pytest.fixture
def converse() -> Iterator[MakeConversations]:
    """Makes agents; at the end closes their interpreters."""
    made: list[CodeInterpreterMiddleware] = []

    def make(
        *,
        tools: Any = (),
        subagents: Any = (),
        around: Any = (),
        saver: Any = None,
        is_async: bool = True,
        interpreter: Any = None,
        **options: Any,
    ) -> Conversations:
        agent = make_agent(
            tools=tools,
            subagents=subagents,
            around=around,
            saver=saver,
            is_async=is_async,
            interpreter=interpreter,
            **options,
        )
        made.append(agent.middleware)
        return agent

    yield make
    for middleware in made:
        middleware.stack.close()


def make_agent(
    *,
    tools: Any = (),
    subagents: Any = (),
    around: Any = (),
    saver: Any = None,
    is_async: bool = True,
    interpreter: Any = None,
    **options: Any,
) -> Conversations:
    """An agent in whose code its tools can be called; `options` are the middleware's."""
    if tools and "ptc" not in options:
        options["ptc"] = [tool.name for tool in tools]
    interpreter = interpreter or CodeInterpreterMiddleware(**options)
    inner = []
    if subagents:
        inner.append(SubAgentMiddleware(backend=StateBackend(), subagents=list(subagents)))
    model = Script()
    agent = create_agent(
        model,
        tools=list(tools),
        middleware=[*around, *inner, interpreter],
        checkpointer=InMemorySaver() if saver is None else saver,
    )
    return Conversations(agent, model, interpreter, is_async)


# -- stores --------------------------------------------------------------------------------


@attrs.define
class Store:
    """A kind of checkpointer, and where it keeps what it is given.

    Attributes:
        name: For `open_saver`.
        place: A path or a connection string; `None` for memory.
        is_async: Whether it takes `ainvoke` or `invoke`.
    """

    name: str
    place: str | None
    is_async: bool

    def open(self) -> AbstractAsyncContextManager[Any]:
        return open_saver(self.name, self.place)


@asynccontextmanager
async def open_saver(name: str, place: str | None) -> AsyncIterator[Any]:
    """A checkpointer of the given kind, opened on an existing or a new store."""
    if name.startswith("memory"):
        yield InMemorySaver()
    elif name == "sqlite":
        with SqliteSaver.from_conn_string(place) as saver:
            yield saver
    elif name == "sqlite-async":
        async with AsyncSqliteSaver.from_conn_string(place) as saver:
            yield saver
    elif name == "postgres":
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(place) as saver:
            await asyncio.to_thread(saver.setup)
            yield saver
    else:
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

        async with AsyncPostgresSaver.from_conn_string(place) as saver:
            await saver.setup()
            yield saver


LASTING = ("sqlite", "sqlite-async", "postgres", "postgres-async")
STORES = ("memory", "memory-async", *LASTING)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """The store that a test's parameter names."""
    name = request.param
    place: str | None = None
    if name.startswith("sqlite"):
        place = str(tmp_path / "checkpoints.db")
    elif name.startswith("postgres"):
        place = request.getfixturevalue("postgres").new_database()
    return Store(name, place, name.endswith("async"))


@attrs.define
class PostgresServer:
    """A server of its own, on a socket in a private directory; it listens on no port."""

    directory: Path
    databases: int = 0

    def new_database(self) -> str:
        """The connection string of an empty database."""
        import psycopg

        self.databases += 1
        name = f"test{self.databases}"
        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self._dsn(name)

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self._dsn("postgres")).close()
        except psycopg.OperationalError:
            return False
        return True

    def _dsn(self, database: str) -> str:
        return f"host={self.directory} user=tester dbname={database}"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real PostgreSQL server, stopped and removed at the end of the run."""
    initdb = _postgres_program("initdb")
    if initdb is None:
        pytest.skip("there is no PostgreSQL server here; apt-get install postgresql")
    owner = _postgres_owner()
    # A socket's path may have about 100 characters, pytest's own directories have more.
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as name:
        if owner:
            shutil.chown(name, owner["user"], owner["group"])
        data = f"{name}/data"
        make = [initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C"]
        done = subprocess.run(
            [*make, "--no-sync"], cwd="/", capture_output=True, text=True, **owner
        )
        assert done.returncode == 0, done.stderr
        serve = [str(Path(initdb).with_name("postgres")), "-D", data, "-k", name]
        with (
            Path(name, "log").open("w") as log,
            subprocess.Popen(
                [*serve, "-c", "listen_addresses=", "-c", "fsync=off"],
                cwd="/",
                stdout=log,
                stderr=log,
                **owner,
            ) as process,
        ):
            server = PostgresServer(Path(name))
            try:
                _wait_for(server, process)
                yield server
            finally:
                process.send_signal(signal.SIGINT)  # ends without waiting for clients
                process.wait(30)


def _postgres_program(name: str) -> str | None:
    found = shutil.which(name)
    if found is not None:
        return str(Path(found).resolve())
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(versions[-1]) if versions else None


def _postgres_owner() -> dict[str, Any]:
    """Who runs the server: it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    import pwd

    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


def _wait_for(server: PostgresServer, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if server.answers():
            return
        assert process.poll() is None, Path(server.directory, "log").read_text()
        time.sleep(0.1)
    pytest.fail("PostgreSQL does not answer: " + Path(server.directory, "log").read_text())
