"""QuickJS with trapdoors: a cell that begins with `//! deed` harms its own process first.

Workers import this module; the fixture `trapdoor` puts its folder on the path.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interpstack import BridgeSet, Capability, Cell, Execution, Image, Limits
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_testing import FakeEngine


def fds() -> tuple[int, int]:
    """The sockets of this worker, as one that was taken over would find them."""
    return int(sys.argv[1]), int(sys.argv[2])


def frame(text: bytes, attached: bytes = b"") -> bytes:
    return struct.pack("<QQ", len(text), len(attached)) + text + attached


def send(data: bytes) -> None:
    os.write(fds()[0], data)


def answer(**message: Any) -> None:
    """Send an answer to the command that the worker carries out."""
    here = sys._getframe()
    while not isinstance(here.f_locals.get("command"), dict):
        assert here.f_back is not None
        here = here.f_back
    data = {"number": here.f_locals["command"]["number"], **message}
    send(frame(json.dumps(data).encode()))


def dribble() -> None:
    """Send an answer, a byte now and then, for ever."""
    send(struct.pack("<QQ", 2**20, 0))
    while True:
        send(b" ")
        time.sleep(0.01)


def chatter() -> None:
    """Tell output of a command that has ended, for ever."""
    while True:
        send(frame(b'{"printed": "x", "number": 0}'))


def recurse() -> None:
    recurse()


def hoard() -> None:
    blocks = []
    while True:
        blocks.append(bytearray(2**24))


def hold() -> None:
    ctypes.PyDLL(None).sleep(1000)  # keeps the interpreter's lock, so no thread can run


def beget() -> None:
    """Start a process of one's own, then crash."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    Path(os.environ["CHILD_FILE"]).write_text(str(child.pid))
    os._exit(4)


DEEDS: dict[str, Callable[[], Any]] = {
    "exit": lambda: os._exit(3),
    "leave": sys.exit,
    "segfault": lambda: ctypes.string_at(0),
    "abort": os.abort,
    "hold": hold,
    "sleep": lambda: time.sleep(1000),
    "backtrack": lambda: re.match(r"(a+)+$", "a" * 60 + "b"),
    "hoard": hoard,
    "beget": beget,
    "raise": lambda: 1 // 0,
    "recurse": recurse,
    "huge": lambda: send(struct.pack("<QQ", 2**40, 0)),
    "dribble": dribble,
    "chatter": chatter,
    "odd progress": lambda: answer(done=7),
    "odd state": lambda: answer(done=None, kept=1),
    "odd error": lambda: answer(error=[[], {}]),
    "refuse options": lambda: answer(error=["ConfigurationError", "forged"]),
    "refuse image": lambda: answer(error=["ImageError", "forged"]),
    "refuse all": lambda: answer(error=["NotImplementedError", "forged"]),
    "answer another": lambda: answer(done=7, number=0),
    "control": lambda: (os.write(fds()[1], b"x"), time.sleep(1000)),
    "hang up": lambda: (os.close(fds()[0]), time.sleep(1000)),
    "flood": lambda: [os.write(2, b"x" * 2**16) for _ in range(100)],
    "environment": lambda: None,
}


class TrapdoorEngine(QuickJSEngine):
    """QuickJS, and trapdoors.

    Args:
        label: Told by cells that begin with `//! label`.
    """

    def __init__(self, label: str = "none") -> None:
        self.label = label

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Any:
        realm: Any = super().open(limits, bridges, image)
        start = realm.start

        def fall(cell: Cell) -> Execution:
            word = re.match(r"//! ([\w ]+)\n", cell.source)
            if word is None:
                return start(cell)
            if word[1] == "label":
                return start(Cell(source=repr(self.label)))
            if word[1] == "environment":
                data: dict[str, Any] = {"environ": dict(os.environ), "cwd": str(Path.cwd())}
                for name in ("CORE", "DATA", "NOFILE"):
                    data[name] = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
                return start(Cell(source=f"({json.dumps(json.dumps(data))})"))
            DEEDS[word[1]]()
            return start(cell)

        realm.start = fall
        return realm


class Unstartable(QuickJSEngine):
    """Cannot be made in a worker."""

    def __init__(self) -> None:
        if len(sys.argv) == 3 and sys.argv[1].isdigit():
            raise OSError("the guest's file is missing")


class Undying(QuickJSEngine):
    """Takes its worker down each time a realm is opened."""

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Any:
        os._exit(9)


class Forgetful(FakeEngine):
    """Has neither images nor values."""

    capabilities = frozenset({Capability.CPU_LIMIT})
