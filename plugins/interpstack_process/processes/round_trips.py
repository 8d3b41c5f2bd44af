"""A command on its way to a worker process, and the messages that come back."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import attrs

from interpstack_process.frames import Channel, pack_frame
from interpstack_process.processes.timeouts import CommandDeadline
from interpstack_workers import MalformedMessage, WorkerAnswer, checked_answer
from interpstack_workers.messages import PRINTED_CHARS, read_text

__all__ = ["Skipped", "WorkerRoundTrip"]


@attrs.frozen
class Skipped:
    """The worker has not carried out the command of this number, and will not."""

    number: int


class WorkerRoundTrip:
    """One command and its answer.

    All methods that wait or go on raise `Closed` when the worker has ended or has had its time,
    `MalformedMessage` when it sent something else, and the engine's refusal of the command.

    Args:
        channel: The connection to the worker, on which no other command is under way.
        number: The number of the command.
        watch: Raises when the worker has had its time.
        hear: Receives the guest's output.

    Attributes:
        number: The number of the command.
        watch: As above.
        fileno: The number of the connection's socket.
    """

    def __init__(
        self, channel: Channel, number: int, watch: CommandDeadline, hear: Callable[[str], None]
    ) -> None:
        self._channel = channel
        self.number = number
        self._hear = hear
        self._unsent: deque[memoryview] = deque()
        self.watch = watch
        self.fileno = channel.fileno()

    def wait(self, command: dict[str, Any], attached: bytes) -> WorkerAnswer | None:
        """Send the command, and wait for the answer; `None` if the command was skipped."""
        self._channel.send(command, attached, self.watch)
        while (answer := self._read(*self._channel.receive(self.watch))) is None:
            self.watch()  # it might go on like that for ever
        if not isinstance(answer, Skipped):
            return answer
        if answer.number != self.number:
            raise MalformedMessage("word that it skipped another command")
        return None

    def start(self, command: dict[str, Any], attached: bytes) -> None:
        """Send what goes without waiting of a command."""
        self._unsent = pack_frame(command, attached)
        self._channel.push(self._unsent)

    def send(self) -> None:
        """Send what goes without waiting of what is left of the command."""
        self._channel.push(self._unsent)

    def receive(self) -> WorkerAnswer | Skipped | None:
        """Receive what has come, without waiting; the answer, if it is complete.

        Returns:
            The answer, or word that this command or one behind it was skipped; else `None`.
        """
        answer = self._come()
        if answer is None:
            self._channel.fill()
            answer = self._come()
        return answer

    def _come(self) -> WorkerAnswer | Skipped | None:
        while (message := self._channel.frame()) is not None:
            if (answer := self._read(*message)) is not None:
                return answer
        return None

    @property
    def sending(self) -> bool:
        """Whether a part of the command is still to be sent."""
        return bool(self._unsent)

    @property
    def has_more(self) -> bool:
        """Whether something came together with the last answer."""
        return self._channel.has_more

    def _read(self, message: Any, attached: bytes) -> WorkerAnswer | Skipped | None:
        """A message, unless it is output."""
        if not isinstance(message, dict):
            raise MalformedMessage("an answer that is not an object")
        if "printed" in message:
            part = read_text(message["printed"], PRINTED_CHARS)
            if message.get("number") == self.number:  # else of a command that has ended
                self._hear(part)
            return None
        if type(skipped := message.get("skipped")) is int:
            return Skipped(skipped)
        if (number := message.pop("number", None)) != self.number or type(number) is not int:
            raise MalformedMessage("an answer to another command")
        return checked_answer(message, attached)
