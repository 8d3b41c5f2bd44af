"""Kernels of the engine `node`, and programs that stand in for them."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from interpstack_node import realm
from interpstack_node.kernels import programs
from interpstack_node.kernels.process import KernelProcess
from interpstack_node.kernels.starting.launch import KernelConfig

#: Writes a program that stands in for Node; takes the body of its script.
Fake = Callable[[str], str]
#: How a fake kernel says that it takes commands.
GREETING = 'send("Z")\n'
_FAKE = """#!{python}
import os, re, socket, struct, sys

connection = socket.socket(fileno=int(re.search(r"Buffer, (\\d+), ", sys.argv[-1])[1]))

def receive():
    head = connection.recv(5, socket.MSG_WAITALL)
    if len(head) < 5:
        os._exit(0)
    return connection.recv(struct.unpack("<BI", head)[1], socket.MSG_WAITALL)

def send(kind, text=b""):
    connection.sendall(struct.pack("<BI", ord(kind), len(text)) + text)

{body}
"""


def write_fake(folder: Path, body: str) -> str:
    """A program that finds its connection as a kernel does, and then does as its body says."""
    path = folder / "node"
    path.write_text(_FAKE.format(python=sys.executable, body=body), "utf-8")
    path.chmod(0o700)
    return str(path)


def write_program(path: Path, body: str) -> str:
    """A program of the shell."""
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(0o700)
    return str(path)


def has_ended(pid: int, seconds: float = 60.0) -> bool:
    """Whether a process ends in that time; one that its parent has not waited for has ended."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.01)
    return False


def descriptors() -> set[tuple[int, int]]:
    """What the descriptors of this process lead to, by device and inode.

    Numbers would not tell: the collector may close one of an earlier test at any time.
    """
    found = set()
    for entry in Path("/dev/fd").iterdir():
        with suppress(OSError):  # that of the listing itself is closed by now
            stat = os.fstat(int(entry.name))
            found.add((stat.st_dev, stat.st_ino))
    return found


def end(*, stopped: bool = False, seen: int = 0) -> str:
    """The statement of a fake kernel that ends an answer."""
    text = json.dumps({"stopped": stopped, "seen": seen, "heap": 1, "external": 1})
    return f"send('Z', {text.encode()!r})"


def kernel_config(node: str, **changed: object) -> KernelConfig:
    options: dict[str, object] = {
        "node": node,
        "memory_bytes": None,
        "most_bytes": 2**20,
        "grace_seconds": 0.3,
        "idle_seconds": None,
        **changed,
    }
    return KernelConfig(**options)  # type: ignore[arg-type]


def started(node: str, **changed: object) -> KernelProcess:
    """A kernel that has carried out a first command."""
    kernel = KernelProcess(kernel_config(node, **changed))
    try:
        kernel.start()
        kernel.ask("say", "[]", seconds=60)
    except BaseException:
        kernel.close()
        raise
    return kernel


def take_over(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Have kernels run code of their own program when a cell contains the word `attack`."""
    original = programs.program
    attack = f"""
      if (JSON.stringify(given).includes("attack")) {{ {body} }}
    """

    def program(name: str) -> str:
        text = original(name)
        mark = "    state.interrupted = false;\n    commands[kind](given);"
        assert name != "main.js" or mark in text
        return text.replace(mark, attack + mark)

    monkeypatch.setattr(programs, "program", program)
    monkeypatch.setattr(realm, "guest_programs", programs.guest_programs.__wrapped__)


def drive(items: Iterable[object]) -> None:
    """Take everything from something that goes on step by step."""
    for _ in items:
        pass
