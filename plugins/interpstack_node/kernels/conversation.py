"""One command to a kernel, and its answer."""

from __future__ import annotations

import json
import math
import socket
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, Protocol

import attrs

from interpstack_node.kernels.clock import CommandClock, TimedKernel
from interpstack_node.kernels.frames import Frame, Frames, MalformedFrame, packed
from interpstack_node.kernels.stops import Stop
from interpstack_node.kernels.waiting import KernelWait, Talk

__all__ = ["Callbacks", "CommandRoundTrip", "KernelAnswer", "Peer"]

_CHUNK: Final = 2**18
#: Frames of one answer: lines that a guest prints, and modules that it imports.
_MOST_FRAMES: Final = 50_000
#: Frames after which a conversation lets others go on, whose kernel never pauses.
_FRAMES_AT_ONCE: Final = 64
_SHOWN_CHARS: Final = 300
#: Seconds until a question about modules is asked again, while others are answered.
_MOMENT_SECONDS: Final = 0.002
#: Seconds that a guest which is to stop waits for an answer nevertheless.
_STOP_SECONDS: Final = 0.25
_INTERRUPTED: Final = json.dumps({"code": "ERR_MODULE_NOT_FOUND", "message": "interrupted"})


class Peer(TimedKernel, Protocol):
    """A kernel, as far as conversations need it."""

    @property
    def connection(self) -> socket.socket:
        """The host's end of the connection, which does not block."""

    @property
    def frames(self) -> Frames:
        """Frames that have arrived."""

    def check(self) -> None:
        """Raise what ended the process, if something did."""


def _not_interrupted() -> bool:
    return False


def _no_modules(base: str, specifier: str) -> Sequence[Any]:
    return "", None, specifier


def _no_files(question: Sequence[str]) -> Generator[KernelWait | None, None, str]:
    yield None
    message = "Modules are found while a cell runs"
    return json.dumps({"code": "ERR_MODULE_NOT_FOUND", "message": message})


def _unheard(line: str) -> None:
    """Without a listener, lines are returned with the cell's calls."""


@attrs.frozen(kw_only=True)
class Callbacks:
    """The host's part in a command.

    Attributes:
        is_interrupted: Becomes true when the guest is to be stopped.
        resolve: Name and source of a module as another one imports it, and why there is none.
        files: Answers a question about packages and files with JSON: what is asked, the address of
            the importing file, the specifier. It yields what to wait for, `None` for a moment.
        printed: Takes each line that the guest prints.
    """

    is_interrupted: Callable[[], bool] = _not_interrupted
    resolve: Callable[[str, str], Sequence[Any]] = _no_modules
    files: Callable[[Sequence[str]], Generator[KernelWait | None, None, str]] = _no_files
    printed: Callable[[str], None] = _unheard


@attrs.frozen(kw_only=True)
class KernelAnswer:
    """The answer to one command.

    Attributes:
        drained: Texts of the guest's kernel, in order.
        values: The guest's variables as JSON text; `None` if they were not exported.
        stopped: Whether the guest was stopped.
        cpu_seconds: Its computing time.
        memory_bytes: Bytes in use afterwards, garbage included, in the heap or in array buffers.
        signals_seen: Signals that the kernel has seen since its start.
    """

    drained: Sequence[str]
    values: str | None
    stopped: bool
    cpu_seconds: float
    memory_bytes: int
    signals_seen: int


class CommandRoundTrip:
    """One command, its answer, and the questions of the kernel in between.

    Args:
        kernel: The kernel.
        stop: Stops the guest.
        seconds: Computing time of the command; `None` for no limit.
        callbacks: The host's part.
    """

    def __init__(
        self, kernel: Peer, stop: Stop, seconds: float | None, callbacks: Callbacks | None = None
    ) -> None:
        self._stop = stop
        self._kernel = kernel
        self._seconds = seconds
        self._callbacks = callbacks or Callbacks()
        self._clock = CommandClock(kernel, stop, seconds, self._callbacks.is_interrupted)
        self._drained: list[str] = []
        self._values: str | None = None

    def greet(self) -> Talk[None]:
        """Wait until the kernel takes commands.

        Raises:
            KernelDied: It does not run as kernels do.
        """
        try:
            frame = yield from self._receive()
        except MalformedFrame as error:
            raise self._kernel.ended(f"was ended because it sent {error}") from error
        if frame.kind != "Z":
            raise self._kernel.ended("was ended because it did not start as kernels do")

    def run(self, command: Sequence[Any]) -> Talk[KernelAnswer]:
        """Send the command, and wait for its answer.

        Args:
            command: Its name and arguments, plain JSON values.

        Raises:
            KernelDied: The process has ended, possibly because it did not stop or sent nonsense.
        """
        try:
            self._kernel.frames.begin()
            with self._stop:
                yield from self._send("c", json.dumps(command, separators=(",", ":")))
                last = yield from self._take_all()
            stopped, memory_bytes, signals_seen = _end_of_answer(last.text)
        except MalformedFrame as error:
            raise self._kernel.ended(f"was ended because it sent {error}") from error
        except GeneratorExit:  # what it would still answer must not answer the next command
            self._kernel.ended("was ended because its caller ended")
            raise
        spent = self._clock.cell_seconds
        if stopped and self._seconds is not None and not self._callbacks.is_interrupted():
            spent = max(spent, self._seconds)
        return KernelAnswer(
            drained=self._drained,
            values=self._values,
            stopped=stopped,
            cpu_seconds=spent,
            memory_bytes=memory_bytes,
            signals_seen=signals_seen,
        )

    def _take_all(self) -> Talk[Frame]:
        """Take the frames of an answer, and return the last one."""
        for count in range(1, _MOST_FRAMES + 1):
            frame = yield from self._receive()
            if frame.kind == "Z":
                return frame
            yield from self._take(frame)
            if count % _FRAMES_AT_ONCE == 0:
                yield from self._let_others_go_on()
        raise MalformedFrame(f"more than {_MOST_FRAMES} frames")

    def _take(self, frame: Frame) -> Talk[None]:
        match frame.kind:
            case "D":
                self._drained.append(frame.text)
            case "V":
                self._values = frame.text
            case "P":
                self._callbacks.printed(frame.text)
            case "E":
                self._clock.export()
            case "R":
                base, specifier = _words(frame.text, 2)
                found = self._callbacks.resolve(base, specifier)
                yield from self._send("r", json.dumps(list(found)))
            case "N":
                answer = yield from self._found(_words(frame.text, 3))
                yield from self._send("n", answer)
            case _:
                raise MalformedFrame(f"a failure of its own: {frame.text[:_SHOWN_CHARS]}")

    def _found(self, question: Sequence[str]) -> Talk[str]:
        asking = self._callbacks.files(question)
        moment = KernelWait(self._kernel.connection, sends=False, seconds=_MOMENT_SECONDS)
        late = math.inf
        try:
            while time.monotonic() < late:
                wait = next(asking) or moment
                if late == math.inf and self._callbacks.is_interrupted():
                    # It stops with an answer, whatever that is, once it has seen the signal.
                    late = time.monotonic() + _STOP_SECONDS
                yield wait
        except StopIteration as end:
            answer: str = end.value
            return answer
        finally:
            asking.close()
        return _INTERRUPTED

    def _send(self, kind: str, text: str) -> Talk[None]:
        data, connection = memoryview(packed(kind, text)), self._kernel.connection
        while data:
            self._kernel.check()
            try:
                data = data[connection.send(data) :]
            except BlockingIOError:
                yield KernelWait(connection, sends=True, seconds=self._clock.look())
            except OSError as error:
                raise self._kernel.ended("") from error

    def _receive(self) -> Talk[Frame]:
        connection, frames = self._kernel.connection, self._kernel.frames
        while (frame := frames.take()) is None:
            self._kernel.check()
            try:
                received = connection.recv(_CHUNK)
            except BlockingIOError:
                yield KernelWait(connection, sends=False, seconds=self._clock.look())
                continue
            except OSError as error:
                raise self._kernel.ended("") from error
            if not received:
                raise self._kernel.ended("")
            frames.add(received)
            if len(received) == _CHUNK:  # there is more, without a pause
                yield from self._let_others_go_on()
        return frame

    def _let_others_go_on(self) -> Talk[None]:
        self._clock.look()
        yield KernelWait(self._kernel.connection, sends=False, seconds=0.0)


def _end_of_answer(text: str) -> tuple[bool, int, int]:
    """Whether the guest was stopped, the bytes that are in use, and the signals that were seen.

    Raises:
        MalformedFrame: The text has another form.
    """
    try:
        report = json.loads(text)
        heap, external = int(report["heap"]), int(report["external"])
        stopped, seen = report["stopped"], report["seen"]
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        raise MalformedFrame("a malformed end of an answer") from error
    if type(stopped) is not bool or type(seen) is not int:
        raise MalformedFrame("a malformed end of an answer")
    return stopped, max(heap, external), seen


def _words(text: str, count: int) -> list[str]:
    """The words of a question about a module.

    Raises:
        MalformedFrame: The text has another form.
    """
    try:
        words = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MalformedFrame("a question that is not JSON") from error
    if not isinstance(words, list) or [type(word) for word in words] != [str] * count:
        raise MalformedFrame("a malformed question")
    return words
