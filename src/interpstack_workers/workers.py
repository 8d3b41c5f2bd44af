"""The contracts of workers and of their pool, and the ends that a command may have."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Any, ClassVar, Final

import attrs

from interpstack import ConfigurationError, EngineFailure, ImageError

__all__ = [
    "REFUSALS",
    "Command",
    "MalformedMessage",
    "Overloaded",
    "Pool",
    "Worker",
    "WorkerAnswer",
    "WorkerDied",
    "checked_answer",
]

_MESSAGE_CHARS: Final = 20_000
#: The engine's refusals of a command, after which a worker goes on.
REFUSALS: Final = (ConfigurationError, EngineFailure, ImageError, NotImplementedError)
_ERRORS: Final[dict[str, type[Exception]]] = {kind.__name__: kind for kind in REFUSALS}


class MalformedMessage(Exception):
    """The other side has sent data that do not have the expected form."""


class WorkerDied(Exception):
    """A worker has ended; the message says how.

    Attributes:
        unread: Whether the worker died before it had read the command.
        late: Whether the worker was killed because the time of the command was up.
    """

    def __init__(self, reason: str, *, unread: bool, late: bool = False) -> None:
        super().__init__(reason)
        self.unread = unread
        self.late = late


class Overloaded(EngineFailure):
    """All workers have as many cells as they may have; the new cell was not begun.

    Attributes:
        retry_seconds: Seconds after which a place for the cell is likely to be free.
    """

    def __init__(self, message: str, retry_seconds: float) -> None:
        self.retry_seconds = retry_seconds
        super().__init__(message)


@attrs.frozen
class Command:
    """A command to a worker.

    Attributes:
        message: The message; see `Service`.
        attached: Bytes that go with it.
        seconds: The time limit, not counting the wait for other commands; `None` for no limit.
        interrupted: Becomes true when the guest is to be stopped.
        hear: Receives the guest's output during the command.
    """

    message: Mapping[str, Any]
    attached: bytes = b""
    seconds: float | None = attrs.field(kw_only=True)
    interrupted: Callable[[], bool] = attrs.field(default=lambda: False, kw_only=True)
    hear: Callable[[str], None] = attrs.field(default=lambda part: None, kw_only=True)


@attrs.frozen
class WorkerAnswer:
    """The answer of a worker: its unchecked message, and its attachment."""

    message: dict[str, Any]
    attached: bytes


class Worker(abc.ABC):
    """A place where realms live, which carries out the commands of `Service`.

    Attributes:
        ready: Whether the worker has loaded its engine.
        ended: Whether the worker has ended.
        reason: The words for its end; empty before.
        realms: Numbers of the realms that live there.
        cells: Numbers of the realms among them in which a cell runs.
    """

    ready: bool
    ended: bool
    reason: str
    realms: set[int]
    cells: set[int]

    @property
    @abc.abstractmethod
    def busy(self) -> bool:
        """Whether a command is being carried out."""

    @abc.abstractmethod
    def ask(self, command: Command) -> WorkerAnswer | None:
        """Run a command after the earlier ones.

        Returns:
            The answer; `None` if it was interrupted before its turn had come.

        Raises:
            WorkerDied: The worker has ended, possibly because it did not answer or sent malformed
                data.
            ConfigurationError: The engine refuses the command; likewise `ImageError`,
                `EngineFailure` and `NotImplementedError`.
        """

    def submit(self, command: Command) -> Future[WorkerAnswer | None] | None:
        """Run a command without waiting; the future ends as `ask` does.

        Returns:
            The future; `None` if the worker has to be asked in a thread, as it has by default.
        """
        return None

    @abc.abstractmethod
    def leave(self, realm: int) -> None:
        """Close a realm with the next command. Takes no lock, so that finalizers may call it."""

    @abc.abstractmethod
    def end(self, reason: str | None) -> None:
        """End the worker.

        Args:
            reason: The reason; `None` if the worker has ended by itself.
        """


class Pool(abc.ABC):
    """The workers of one engine."""

    #: The words for a worker in messages, as in "the worker process".
    title: ClassVar[str]

    @abc.abstractmethod
    def place(self, realm: int, key: str) -> Worker:
        """The worker for a realm.

        Args:
            realm: The realm's number.
            key: The key of its session; empty if it is unknown.

        Raises:
            EngineFailure: The engine was closed, or no worker can be started.
        """

    def admit(self, realm: int) -> None:  # noqa: B027 - optional
        """Let a realm begin a new cell. By default, every realm may.

        Raises:
            Overloaded: The workers have as many cells as they may have.
        """

    @abc.abstractmethod
    def should_move(self, worker: Worker) -> bool:
        """Whether a realm of this worker should begin its next cell in another one."""

    @abc.abstractmethod
    def place_instead(self, realm: int, worker: Worker) -> Worker | None:
        """Another worker for a realm that should move; `None` if there is none."""

    def wait_for_turn(self, worker: Worker) -> None:  # noqa: B027 - optional
        """Wait a moment for a worker in which a cell is to begin. By default, this does nothing."""

    def stays(self, worker: Worker) -> bool:
        """Whether a cell can begin in its worker without a look for another one; does not wait.

        By default, none can.
        """
        return False

    @property
    @abc.abstractmethod
    def threads(self) -> Executor | None:
        """The threads in which realms are opened and moved; `None` once closed."""


def checked_answer(message: dict[str, Any], data: bytes) -> WorkerAnswer:
    """An answer, or the exception that the answer describes.

    Raises:
        MalformedMessage: The error has another form.
    """
    if "error" not in message:
        return WorkerAnswer(message, data)
    error = message["error"]
    if (
        not isinstance(error, list)
        or len(error) != 2
        or not all(isinstance(text, str) for text in error)
        or error[0] not in _ERRORS
    ):
        raise MalformedMessage("a malformed error")
    if len(error[1]) > _MESSAGE_CHARS:
        raise MalformedMessage(
            f"a text of {len(error[1])} characters where at most {_MESSAGE_CHARS} fit"
        )
    raise _ERRORS[error[0]](error[1])
