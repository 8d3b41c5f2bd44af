"""Figures of one run of the demo."""

from __future__ import annotations

import attrs

__all__ = ["LeftOut", "Tally"]


@attrs.define
class LeftOut:
    """What is left out for one reason.

    Attributes:
        reason: Why.
        count: How many there are.
        examples: Paths of the first of them.
    """

    reason: str
    count: int = 0
    examples: list[str] = attrs.field(factory=list)

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.reason}: {self.count} ({', '.join(self.examples)}{more})"


@attrs.define
class Tally:
    """What happened during the demo.

    Attributes:
        model_turns: Answers of the model.
        evals: Pieces of code it ran.
        inner_calls: Tool calls its code made.
        chars_read: Characters that code got from those calls.
        chars_seen: Characters of results the model got to read.
        answer: Its last message.
        left_out: Files that were not counted.
    """

    model_turns: int = 0
    evals: int = 0
    inner_calls: int = 0
    chars_read: int = 0
    chars_seen: int = 0
    answer: str = ""
    left_out: list[LeftOut] = attrs.field(factory=list)
