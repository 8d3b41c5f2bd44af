"""Shows replays: as tables for a person, as data for a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
from rich import box
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from interpstack_cli.api import printable
from interpstack_inspect.api import PauseEvent
from interpstack_langchain.replay.recorded_evals import RecordedEval
from interpstack_langchain.replay.replayer import Replay
from interpstack_langchain.replay.timeline import RecordedCall, Timeline

__all__ = ["EvalView"]

_COLUMNS: Final = ("step", "called", "answered", "call", "input", "answer", "decision")
#: Columns of a terminal from which on a table has room for all of these.
_TABLE_COLUMNS: Final = 80
_COLOURS: Final[Mapping[str, str]] = {
    "ended": "green",
    "paused": "yellow",
    "in flight": "yellow",
    "terminated": "yellow",
    "failed": "red",
    "diverged": "red",
    "not begun": "dim",
}


@attrs.frozen(kw_only=True)
class EvalView:
    """One replayed eval.

    Attributes:
        found: The recorded eval.
        timeline: The calls of the eval.
        replay: How it ended.
        chars: Characters shown of each input and answer.
    """

    found: RecordedEval
    timeline: Timeline
    replay: Replay
    chars: int

    def data(self, *, code: bool) -> dict[str, Any]:
        """Plain JSON data."""
        found, replay = self.found, self.replay
        return {
            "eval": found.number,
            "tool": found.tool_name,
            "tool_call_id": found.call_id,
            "namespace": found.namespace,
            "step_began": found.began,
            "began": self.timeline.began,
            "engine": replay.engine,
            "language": replay.language,
            "status": replay.status,
            "text": replay.text,
            "recorded_answer": found.answer,
            "notes": list(replay.notes),
            "cell": self._cell(),
            "timeline": [self._event(event) for event in self.timeline.events],
            **({"code": found.code.code} if code else {}),
        }

    def _cell(self) -> dict[str, Any] | None:
        cell = self.found.cell
        if cell is None:
            return None
        calls = [{"tool": call.tool, "answer": call.answer} for call in cell.calls]
        return {"id": cell.id, "ended": cell.calls[-1].ended, "calls": calls}

    def _event(self, event: RecordedCall | PauseEvent) -> dict[str, Any]:
        data = attrs.asdict(event)
        if isinstance(event, RecordedCall):
            data["input"] = self.cut(event.input)
            open_ = event.answered is None and not event.kept
            data["answer"] = None if open_ else self.cut(event.answer)
        kind = "call" if isinstance(event, RecordedCall) else "pause"
        return {"kind": kind, **data}

    def print(self, console: Console, *, code: bool) -> None:
        """Write to a terminal, with escapes so that guest text cannot send commands to it."""
        found, replay = self.found, self.replay
        where = f" in {found.namespace}" if found.namespace else ""
        where += f", cell {found.cell.id}" if found.cell else ""
        head = (f"Eval {found.number}", "bold")
        console.print(
            Text.assemble(head, printable(f"{where}, {found.began}, engine {replay.engine}"))
        )
        if code:
            source = printable(found.code.code.strip())
            console.print(
                Syntax(source, replay.language, background_color="default", word_wrap=True)
            )
        if self.timeline.events:
            wide = console.width >= _TABLE_COLUMNS
            console.print(self._table() if wide else self._list())
        else:
            console.print(Text("no calls are recorded", "dim"))
        for call in found.cell.before if found.cell else ():
            console.print(
                Text.assemble((f"{call.tool} answered: ", "bold"), printable(call.answer))
            )
        colour = _COLOURS[replay.status]
        console.print(Text.assemble((f"{replay.status}: ", colour), printable(replay.text)))
        for note in replay.notes:
            console.print(Text.assemble(("Note: ", "yellow"), printable(note)))
        if found.answer is not None and found.answer != replay.text:
            console.print(Text.assemble(("recorded: ", "bold"), printable(found.answer)))
        console.print()

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for column in _COLUMNS[:3]:
            table.add_column(column, justify="right", no_wrap=True)
        for column in _COLUMNS[3:]:
            table.add_column(column, overflow="fold", min_width=len(column))
        for row in self._rows():
            table.add_row(*row)
        return table

    def _rows(self) -> Iterator[tuple[str | Text, ...]]:
        """Cells by event, in the order of the columns."""
        for event in self.timeline.events:
            if isinstance(event, RecordedCall):
                yield self._call(event)
                continue
            waits = Text(printable(f"waits for {', '.join(event.waits_for)}"))
            answered = "answered" if event.resumed else "not answered"
            pause = Text(f"pause {event.number}", "yellow")
            yield "", _seconds(event.at), "", pause, waits, "", answered

    def _list(self) -> Table:
        """The same for a narrow terminal: a line for each cell that is not empty."""
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for number, row in enumerate(self._rows()):
            if number:
                table.add_row()
            for name, cell in zip(_COLUMNS, row, strict=True):
                if str(cell):
                    table.add_row(Text(name, "bold"), cell)
        return table

    def _call(self, call: RecordedCall) -> tuple[str | Text, ...]:
        answered = "" if call.answered is None else _seconds(call.answered)
        return (
            "" if call.step is None else str(call.step),
            _seconds(call.asked),
            answered,
            Text(printable(call.bridge)),
            Text(printable(self.cut(call.input))),
            Text(printable(self.cut(call.answer)), "red" if call.failed else ""),
            Text(printable("; ".join([*call.decisions, *["not received"] * call.kept]))),
        )

    def cut(self, text: str) -> str:
        """The beginning of an input or an answer, as much as is shown of it."""
        return text if len(text) <= self.chars else f"{text[: self.chars]}…"


def _seconds(value: float) -> str:
    return f"{value:.3f} s"
