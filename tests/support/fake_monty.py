"""Fakes of Monty's client: errors that tests can make, and workers without a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


class MontyError(Exception):
    """An error as Monty's client raises it: its text begins with the name of what it wraps."""

    def __init__(self, inner: Exception, *frames: Any) -> None:
        super().__init__(f"{type(inner).__name__}: {inner}")
        self._inner, self._frames = inner, list(frames)

    def exception(self) -> Exception:
        return self._inner

    def traceback(self) -> list[Any]:
        return self._frames


class MontyRuntimeError(MontyError):
    """Raised by code."""


class MontySyntaxError(MontyError):
    """Code that cannot be read."""


#: In place of the package `pydantic_monty`, in one module.
CLIENT = SimpleNamespace(
    MontyError=MontyError,
    MontyRuntimeError=MontyRuntimeError,
    MontySyntaxError=MontySyntaxError,
)


def frame(line: int, filename: str = "<python-input-1>", **fields: Any) -> Any:
    """A line of a traceback."""
    given = {"function_name": None, "source_line": "", "column": 1, **fields}
    return SimpleNamespace(line=line, filename=filename, **given)


class FakeWorker:
    """A worker whose answers a test chooses.

    Args:
        answer: Returns the answer to code of the host, or raises.
    """

    def __init__(self, answer: Callable[[str], Any] = lambda source: None) -> None:
        self.answer = answer
        self.session = SimpleNamespace(dump=lambda: b"dumped", load_session=self._load)
        self.bound = ""
        self.killed = False
        self.ran: list[str] = []
        self.inputs: list[dict[str, Any]] = []
        self.seconds: list[float | None] = []
        self.loaded: list[bytes] = []
        self.released = 0

    def _load(self, dump: bytes) -> None:
        self.loaded.append(dump)

    def bind(self, binding: str) -> None:
        self.bound = binding

    @contextmanager
    def watched(self, seconds: float | None) -> Iterator[Any]:
        self.seconds.append(seconds)
        yield self.session

    def run(self, source: str, **given: Any) -> Any:
        self.ran.append(source)
        self.inputs.append(dict(given.get("inputs", {})))
        return self.answer(source)

    def kill(self) -> None:
        self.killed = True

    def give_up(self) -> None:
        self.killed = True
        self.release()

    def release(self) -> None:
        self.released += 1


class FakeWorkers:
    """Workers of an engine; each take gives the same one."""

    def __init__(self, worker: FakeWorker) -> None:
        self.worker = worker
        self.crowded = False
        self.taken = 0

    def take(self, limits: Any) -> FakeWorker:
        self.taken += 1
        return self.worker
