"""The example server, started with workers of its own, and with a log of its effects."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import attrs
import httpx
import psutil

__all__ = ["COMMAND", "EXAMPLE", "Server", "Servers", "free_port", "python_path", "send_turn"]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "server"
COMMAND = (sys.executable, "-m", "interpstack_example_server")


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def python_path() -> str:
    """Where a server finds its package, and the agent of `server_agent.py`."""
    return os.pathsep.join([str(EXAMPLE / "src"), str(ROOT / "tests" / "support")])


@attrs.define
class Server:
    """A running server.

    Attributes:
        url: Where it answers.
        process: The parent of its workers, or the only worker.
        log: What it has printed.
    """

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def wait(self) -> None:
        """Wait until it answers."""
        for _ in range(1200):
            assert self.process.poll() is None, self.log.read_text()
            try:
                if httpx.get(f"{self.url}/health/ready", timeout=10).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"the server does not become ready: {self.log.read_text()}")

    def workers(self) -> set[int]:
        """The processes of the workers, of which there are several."""
        workers: set[int] = set()
        for one in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):  # it has just ended
                if "resource_tracker" not in " ".join(one.cmdline()):
                    workers.add(one.pid)
        return workers

    def end(self) -> None:
        """Have it end by itself."""
        self.process.send_signal(signal.SIGTERM)
        # uvicorn without a parent process ends by the signal that it was sent, once it is done.
        assert self.process.wait(300) in (0, -signal.SIGTERM), self.log.read_text()
        assert "Application shutdown complete" in self.log.read_text()
        assert "Traceback" not in self.log.read_text()


@attrs.define
class Servers:
    """Where servers have their database and their log of effects."""

    dsn: str
    folder: Path
    _stack: ExitStack
    _count: int = 0

    @classmethod
    @contextmanager
    def at(cls, dsn: str, folder: Path) -> Iterator[Servers]:
        """Start servers in a block, at whose end they are stopped."""
        with ExitStack() as stack:
            yield cls(dsn, folder, stack)

    def start(self, workers: int, **settings: str) -> Server:
        """Start a server with so many workers, and more variables in its environment."""
        self._count += 1
        port = free_port()
        log = self.folder / f"server-{self._count}.log"
        process = self._stack.enter_context(
            subprocess.Popen(
                [*COMMAND, "--port", str(port), "--workers", str(workers)],
                env={
                    **os.environ,
                    "PYTHONPATH": python_path(),
                    "DATABASE_URL": self.dsn,
                    "AGENT": "server_agent:parts",
                    "EFFECTS": str(self.folder / "effects"),
                    **settings,
                },
                stdout=self._stack.enter_context(log.open("wb")),
                stderr=subprocess.STDOUT,
            )
        )
        self._stack.callback(process.terminate)
        return Server(f"http://127.0.0.1:{port}", process, log)

    def effects(self) -> list[str]:
        """The effects so far, in order."""
        log = self.folder / "effects"
        return log.read_text().splitlines() if log.exists() else []


async def send_turn(
    client: httpx.AsyncClient,
    urls: Callable[[int], str],
    talk: str,
    number: int,
    steps: Sequence[str],
    *,
    hasty: bool = False,
) -> None:
    """Send a turn again and again until it is answered.

    Args:
        client: The client.
        urls: The server to ask, by the number of the attempt.
        talk: The conversation.
        number: The turn's number in it.
        steps: The cells that the model runs.
        hasty: Whether the first attempt has no patience.
    """
    body = {"id": f"{talk}-{number}", "text": json.dumps(steps)}
    for attempt in range(200):
        seconds = 0.05 if hasty and attempt == 0 else 60
        url = f"{urls(attempt)}/threads/{talk}/turns"
        try:
            answer = await client.post(url, json=body, timeout=seconds)
        except httpx.TransportError:
            await asyncio.sleep(0.05)
            continue
        if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            assert int(answer.headers["retry-after"]) >= 1
            await asyncio.sleep(0.1)
            continue
        assert (answer.status_code, answer.json()) == (200, {"answer": "done"})
        return
    raise AssertionError(f"turn {number} of {talk} was never answered")
