"""Checkpointers of every kind, on real stores; a plugin of pytest for the whole suite.

What a store needs is imported when it is opened: the kernel's tests run without all of it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest


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
        from langgraph.checkpoint.memory import InMemorySaver

        yield InMemorySaver()
    elif name == "sqlite":
        from langgraph.checkpoint.sqlite import SqliteSaver

        with SqliteSaver.from_conn_string(place) as saver:
            yield saver
    elif name == "sqlite-async":
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

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

    def drop_database(self, dsn: str) -> None:
        """Remove a database, also while connections of killed processes are still open."""
        import psycopg

        name = psycopg.conninfo.conninfo_to_dict(dsn)["dbname"]
        with psycopg.connect(self._dsn("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

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
                process.wait()


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


@attrs.define
class RedisServer:
    """A server of its own, on a socket in a private directory; it listens on no port."""

    directory: Path

    @property
    def url(self) -> str:
        return f"unix://{self.directory}/redis.sock"


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A real Redis server, stopped and removed at the end of the run."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("there is no Redis server here; apt-get install redis-server")
    with tempfile.TemporaryDirectory(prefix="redis-") as name:
        settings = ["--port", "0", "--unixsocket", f"{name}/redis.sock", "--dir", name]
        with (
            Path(name, "log").open("w") as log,
            subprocess.Popen([program, *settings, "--save", ""], stdout=log, stderr=log) as process,
        ):
            try:
                for _ in range(300):
                    if Path(name, "redis.sock").exists():
                        break
                    assert process.poll() is None, Path(name, "log").read_text()
                    time.sleep(0.1)
                yield RedisServer(Path(name))
            finally:
                process.terminate()
                process.wait()
