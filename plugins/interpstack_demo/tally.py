"""Figures of one run of the demo."""

from __future__ import annotations

from threading import Lock
from typing import Final

import attrs

__all__ = ["LeftOut", "Tally"]

#: Names of skipped files that are listed for one reason.
_NAMED: Final = 5


@attrs.define
class LeftOut:
    """The files that are skipped for one reason.

    Attributes:
        reason: Why.
        count: How many there are.
        examples: Paths of the first of them.
    """

    reason: str
    count: int = 0
    examples: list[str] = attrs.field(factory=list)

    def add(self, name: str) -> None:
        """Count a file; the paths of the first ones are examples."""
        self.count += 1
        if len(self.examples) < _NAMED:
            self.examples.append(name)

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.reason}: {self.count} ({', '.join(self.examples)}{more})"


@attrs.define
class Tally:
    """Counts of the events of the demo.

    Attributes:
        model_turns: Answers of the model.
        evals: Pieces of code it ran.
        inner_calls: Tool calls its code made.
        chars_read: Characters that these calls returned to code.
        chars_seen: Characters of results the model got to read.
        answer: The last message of the agent.
        left_out: Files that were not counted.
    """

    model_turns: int = 0
    evals: int = 0
    inner_calls: int = 0
    chars_read: int = 0
    chars_seen: int = 0
    answer: str = ""
    left_out: list[LeftOut] = attrs.field(factory=list)
    _lock: Lock = attrs.field(factory=Lock, init=False, repr=False, eq=False)

    def add_call(self) -> int:
        """Count a tool call of the code; its number."""
        self.inner_calls += 1
        return self.inner_calls

    def add_read(self, text: str) -> None:
        """Count a text that code got from a call; tools are called by several threads."""
        with self._lock:
            self.chars_read += len(text)

    def add_turn(self, answer: str) -> None:
        """Count an answer of the model; the last one with text is the demo's."""
        self.model_turns += 1
        self.answer = answer or self.answer

    def add_result(self, text: str) -> None:
        """Count a result that the model got to read."""
        self.chars_seen += len(text)

    def add_eval(self) -> None:
        """Count a piece of code that the model ran."""
        self.evals += 1

    def leave_out(self, left_out: list[LeftOut]) -> None:
        """Note the files that were not counted."""
        self.left_out = left_out
