"""Stacks whose engine runs in worker processes, and a look at what they leave behind."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from interpstack import Engine, InterpreterStack, Session, bridge
from interpstack_process.engine import ProcessEngine

if os.name != "posix":
    collect_ignore_glob = ["test_*.py"]


#: Of stacks that tests elsewhere have left to the garbage collection.
_theirs: set[psutil.Process] = set()


def _workers() -> list[psutil.Process]:
    return [worker for worker in _all_workers() if worker not in _theirs]


def _all_workers() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            dead = child.status() == psutil.STATUS_ZOMBIE and child.name().startswith("python")
            if dead or "interpstack_process.worker" in " ".join(child.cmdline()):
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found


def _until(true: Callable[[], Any], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"still not true after {seconds:g} s"
        time.sleep(0.01)


@pytest.fixture(scope="session")
def made_once() -> None:
    """Open the files that the first guest in this process opens for all of them."""
    with InterpreterStack("quickjs") as stack:
        assert stack.session("first").eval_sync("let kept = 41; kept").ok


@pytest.fixture(autouse=True)
def nothing_left(made_once: None) -> Iterator[None]:
    """No worker, no zombie and no open file is left behind by a test."""
    _theirs.update(_workers())
    before = psutil.Process().num_fds()
    yield
    _until(lambda: not _workers())
    _until(lambda: psutil.Process().num_fds() <= before + 3)  # the shared loop's own, made once


@pytest.fixture
def trapdoor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module `trapdoor`, where workers find it, too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import trapdoor

    return trapdoor


@pytest.fixture
def hostile(trapdoor: Any) -> type[Engine]:
    """The class of QuickJS with trapdoors, in worker processes."""
    return ProcessEngine.around(trapdoor.TrapdoorEngine)


@bridge("kit.echo")
async def echo(value: Any = None, seconds: float = 0.0) -> Any:
    await asyncio.sleep(seconds)
    return value


@pytest.fixture
def make() -> Iterator[Callable[..., InterpreterStack]]:
    """Makes stacks with the bridge `kit.echo`; closes them."""
    made: list[InterpreterStack] = []

    def stack(engine: Any = "process:quickjs", *args: Any, **options: Any) -> InterpreterStack:
        options.setdefault("bridges", [echo])
        made.append(InterpreterStack(engine, *args, **options))
        return made[-1]

    yield stack
    for item in made:
        item.close()


@pytest.fixture
def pid_of() -> Callable[[Session], int]:
    """The worker that a session lives in."""

    def find(session: Session) -> int:
        realm: Any = session._state.realm
        assert realm.residence.worker is not None
        return int(realm.residence.worker.pid)

    return find


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait for something to become true."""
    return _until


@pytest.fixture
def workers() -> Callable[[], list[psutil.Process]]:
    """Worker processes of this process, zombies too."""
    return _workers
