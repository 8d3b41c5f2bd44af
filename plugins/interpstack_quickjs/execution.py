"""The run of one cell."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from interpstack import (
    BridgeSet,
    Cell,
    EngineFailure,
    GuestError,
    Notification,
    Progress,
    Settlement,
)
from interpstack_javascript.cells import (
    CellTimeout,
    Prepared,
    SourceError,
    ThreadClock,
    load,
    prepared,
)
from interpstack_javascript.exchange import MEMBER_SECONDS, drained_progress
from interpstack_javascript.execution import KernelExecution
from interpstack_quickjs.guest import from_column_one
from interpstack_quickjs.guest_memory import Heap, OutOfRoom
from interpstack_quickjs.integers import fitting_answer
from interpstack_quickjs.live_guest import LiveGuest
from interpstack_quickjs.states import memory_limit
from interpstack_quickjs.webassembly.machine import CpuLimitReached, Trapped

if TYPE_CHECKING:
    from interpstack_javascript.edits import Shifts
    from interpstack_quickjs.heap.printed import Ear

__all__ = ["QuickJSExecution"]

#: Said wherever a cell had to be taken back.
UNDONE: Final = "this cell's changes to variables were undone"
#: Seconds that leftovers of an aborted cell may take to wind down before they are undone.
_WIND_DOWN_SECONDS: Final = 0.05
#: Seconds for the kernel to return a cell's queue, which normally takes milliseconds.
_DRAIN_SECONDS: Final = 2.0
#: What QuickJS throws where memory ends: anywhere, in a regex that runs, in one that is compiled.
_OUT_OF_MEMORY: Final = (
    ("InternalError", "out of memory"),
    ("InternalError", "out of memory in regexp execution"),
    ("SyntaxError", "out of memory"),
)
#: The top of a stack trace where an imported module does not parse.
_MODULE_FAULT: Final = (
    r"\s*at (?P<name>[^\n]{1,500}?):(?P<line>\d{1,9}):(?P<column>\d{1,9})(?:\n|$)"
)
#: How QuickJS refuses a source whose expressions take more than its stack; only templates do.
_TOO_WIDE: Final = "stack overflow (op="
#: Name QuickJS gives to every text that `eval` runs, in stack traces.
_SCRIPT: Final = "<input>"


class QuickJSExecution(KernelExecution):
    """The run of one cell.

    Args:
        live: The guest.
        cell: The cell.
        before: The state to go back to if a cell in the middle of its run must be undone; `None`
            for a cell that has not begun, which is undone to the state at its first poll.
    """

    def __init__(self, live: LiveGuest, cell: Cell, before: Heap | None = None) -> None:
        super().__init__(cell, live.modules, _SCRIPT)
        self._live = live
        self._known_before = before
        self._started = before is not None
        self._prepared: Prepared | None = None
        self._ended = False
        self._interrupted = False
        self._idle = False  # nothing is open that could wake the guest
        self._undone = False
        self._hear: Callable[[str], None] | None = None
        self._ear: Ear | None = None
        self._taken = 0  # the number of the output that the host has

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        guest = self._live.guest
        if not self._started:
            self._keep_before()
            load(self._cell.source, self._cell.language)
        begun = time.thread_time()
        self._taken = self._live.taken_output()
        if not self._started:
            refused = self._prepare(cpu_seconds)
            if refused is not None:
                self._ended = True
                spent = time.thread_time() - begun
                return attrs.evolve(refused, cpu_seconds=spent)
        with guest.runtime.ticker:
            guest.set_time(cpu_seconds, begun)
            if self._interrupted:  # before the clock was set
                guest.interrupt()
            if self._hear is not None:
                self._ear = self._ear or _ear(self._hear, self._live)
                self._ear.begin(self._taken)
                guest.look_on(self._ear.look)
            try:
                self._run(now * 1000)
            except CpuLimitReached:
                pass  # raised with `guest.interrupted` set, which ends the poll below
            except Trapped as trap:
                return self._recover(trap, time.thread_time() - begun)
            except OutOfRoom:
                if not guest.interrupted:
                    return self._overfull(time.thread_time() - begun)
            finally:
                guest.look_on(None)
            ended = time.thread_time()
            spent = ended - begun
            if guest.interrupted:
                self._ended = True
                return Progress(exhausted=True, cpu_seconds=spent)
            guest.set_time(_DRAIN_SECONDS, ended)
            return self._drain(spent)

    def settle(self, settlements: Sequence[Settlement]) -> None:
        super().settle([fitting_answer(settlement) for settlement in settlements])

    def abort(self, reason: str) -> Progress:
        live, before = self._live, self._keep_before()
        live.runs(None)
        self._ended = True
        guest = live.guest
        progress = Progress()
        self._taken = live.taken_output()
        with guest.runtime.ticker:
            guest.set_time(_WIND_DOWN_SECONDS)
            try:
                progress = self._progress(live.dispatch("end"), 0.0)
                if live.guest is not guest:
                    return progress  # it had run out of memory and is undone already
                guest.run_jobs()
                if not guest.interrupted and guest.has_room() and not self._importing:
                    return progress
            except (Trapped, CpuLimitReached, EngineFailure) as error:
                why = str(error)
                if not progress.notifications:
                    progress = Progress(notifications=self._output())
            else:
                # A module that is stopped in the middle of its evaluation could never be imported
                # again.
                half = "it left a module half loaded"
                why = half if self._importing else "it left endless work behind"
            # What the cell left behind goes on for ever; it goes, with all the cell did.
            live.restore(before)
        failure = GuestError("EngineFailure", f"{UNDONE}: {why}")
        return attrs.evolve(progress, failure=failure, state="undone")

    def undo(self) -> None:
        self._live.restore(self._keep_before())

    def listen(self, hear: Callable[[str], None]) -> None:
        self._hear = hear

    def interrupt(self) -> None:
        self._interrupted = True
        self._live.guest.interrupt()

    # -- inside ----------------------------------------------------------------------------

    def _drain(self, spent: float) -> Progress:
        """Take what the guest did in a poll."""
        guest = self._live.guest
        try:
            if not guest.has_room():
                return self._overfull(spent)
            return self._settled(self._live.dispatch("drain"), spent)
        except OutOfRoom:
            if not guest.interrupted:
                return self._overfull(spent)
            self._ended = True  # such as by a getter of what a promise was rejected with
            return Progress(exhausted=True, cpu_seconds=spent)
        except Trapped as trap:
            return self._recover(trap, spent)

    def _offered(self) -> BridgeSet | None:
        return self._live.bridges

    def _ask(self, *command: Any) -> str | None:
        guest = self._live.guest
        if self._undone or not guest.has_room():
            return None
        guest.set_time(MEMBER_SECONDS)
        try:
            return self._live.dispatch(*command)
        except (CpuLimitReached, OutOfRoom):
            return None

    def _keep_before(self) -> Heap:
        """The guest's memory before the cell, copied before the cell does anything."""
        if self._known_before is None:
            self._known_before = self._live.start()
        return self._known_before

    def _run(self, now_ms: float) -> None:
        if not self._started:
            self._started = True
            self._live.runs(self._cell.name)
            self._begin(now_ms)
        else:
            self._resume(now_ms)

    def _prepare(self, cpu_seconds: float | None) -> Progress | None:
        """Make the script; the end of the cell if it is not to be run."""
        try:
            clock = ThreadClock(cpu_seconds, lambda: self._interrupted)
            self._prepared = prepared(
                self._cell.source, self._cell.language, clock, for_quickjs=True
            )
        except SourceError as error:
            return self._refused(error)
        except CellTimeout:
            return Progress(exhausted=True)
        return Progress(exhausted=True) if self._interrupted else None

    def _begin(self, now_ms: float) -> None:
        if self._prepared is None:
            raise EngineFailure("a cell is run that was not prepared")
        words, about = self._begin_arguments(now_ms, live=self._hear is not None)
        script = self._prepared.command()
        script.pop("functionShifts", None)
        for part in {"source", "functions"} & script.keys():
            script[part] = from_column_one(script[part])
        shifts = self._shifts(self._prepared)
        if shifts != ():
            script["shifts"] = shifts
        command = json.dumps(["begin", words, {**about, **script, "named": False}])
        live = self._live
        if not live.guest.tell(live.base.dispatch, command, live.base.next):
            raise OutOfRoom("the guest has no room for the cell")

    def _shifts(self, made: Prepared) -> Shifts:
        """Return the table of a cell's script, for columns as QuickJS counts them."""
        if made.functions == "" and made.source.isascii():
            return made.shifts
        from interpstack_javascript.edits import in_bytes, merged

        # QuickJS names no scripts, so one table holds for both parts of a cell.
        functions = in_bytes(made.function_shifts, made.functions)
        return merged(in_bytes(made.shifts, made.source), functions)

    def _resume(self, now_ms: float) -> None:
        live = self._live
        base, command = live.base, self._resume_command(now_ms)
        if not live.guest.tell(base.dispatch, command, base.next):
            raise OutOfRoom("the guest has no room for the answers of its calls")

    def _settled(self, text: str, spent: float) -> Progress:
        progress = self._progress(text, spent)
        if progress.completion is None and self._idle and self._reached_limit():
            return self._overfull(spent)  # too little memory to tell who waits for a promise
        return progress

    def _progress(self, text: str, spent: float) -> Progress:
        drained = self._drained(text)
        self._idle = drained["idle"]
        completion = self._completion(drained["completion"])
        if completion is not None:
            self._ended = True
            self._live.runs(None)
        progress = drained_progress(drained, completion, spent, self._notices)
        return attrs.evolve(progress, state="undone") if self._undone else progress

    def _error(self, report: Mapping[str, str], place: Sequence[int] | None) -> GuestError:
        name, message = report["name"], report["message"]
        if (name, message) in _OUT_OF_MEMORY or self._has_no_room_for_error(report):
            return self._out_of_memory()
        if name == "InternalError" and message.startswith(_TOO_WIDE):
            name, message = "SyntaxError", "a template with too many parts (only 65534 allowed)"
        if name == "InternalError" and message in ("string too long", "stack overflow"):
            name = "RangeError"
        shifts = () if self._prepared is None else self._shifts(self._prepared)
        found = self._faulty({"name": name, "message": message}, place, shifts)
        if found is not None:
            return found
        return self._placed(GuestError(name, message, report["stack"]))

    def _placed(self, error: GuestError) -> GuestError:
        """The error with its place, if it says that an imported module does not parse."""
        stack = error.stack
        found = re.match(_MODULE_FAULT, stack) if error.name == "SyntaxError" else None
        source = None if found is None else self._live.modules.source(found["name"])
        if found is None or source is None:
            return error
        from interpstack.guests import place_at
        from interpstack_javascript.parser.parsing import parse
        from interpstack_javascript.positions import offset_of
        from interpstack_javascript.preparation import offset_shown

        typed = self._live.modules.is_typescript(found["name"])
        faults = () if typed else parse(source, name="module.mjs").faults
        line, column = int(found["line"]), int(found["column"])
        offset = offset_shown(source, faults[0]) if faults else offset_of(source, line, column)
        if offset is None:
            return error
        place = place_at(source, offset)
        start, end = found.start("line"), found.end("column")
        stack = f"{stack[:start]}{place.line}:{place.column}{stack[end:]}"
        return attrs.evolve(error, stack=stack, place=place)

    def _has_no_room_for_error(self, report: Mapping[str, str]) -> bool:
        """Whether memory ran out while QuickJS made the error: its message is missing, or all."""
        kind = report["name"], report["message"]
        if kind == ("InternalError", ""):
            return self._is_full()
        return kind == ("Error", "null") and not report["stack"] and self._reached_limit()

    def _out_of_memory(self) -> GuestError:
        # What fills the memory may be held by a global: nothing would run any more.
        self._live.restore(self._keep_before())
        self._undone = True
        limit = memory_limit(self._live.limits) // 2**20
        return GuestError(
            "OutOfMemory", f"the guest used up its memory limit of {limit} MiB; {UNDONE}"
        )

    def _reached_limit(self) -> bool:
        """Whether the memory grew to its limit in this cell; it never shrinks."""
        return self._live.guest.memory_bytes > self._keep_before().size and self._is_full()

    def _is_full(self) -> bool:
        return self._live.guest.memory_bytes > memory_limit(self._live.limits) - 2**20

    def _overfull(self, spent: float) -> Progress:
        self._ended = True
        output = self._output()
        failure = self._out_of_memory()
        return Progress(notifications=output, failure=failure, state="undone", cpu_seconds=spent)

    def _output(self) -> list[Notification]:
        """The console output of a guest that can no longer run, read from its memory."""
        from interpstack_quickjs.heap.printed import read_printed  # loaded for stopped cells only

        text, omitted = read_printed(self._live.guest, self._live.base.printed, self._taken)
        return (
            [Notification("console", {"text": text, "omitted": omitted})] if text or omitted else []
        )

    def _recover(self, trap: Trapped, spent: float) -> Progress:
        """Save the output of a stopped instance, then go back to before the cell."""
        self._ended = True
        output = self._output()
        full = self._reached_limit()
        self._live.restore(self._keep_before())
        if trap.by_clock:
            failure = GuestError(
                "Timeout", f"the code computed for too long in one built-in function; {UNDONE}"
            )
        elif trap.by_recursion:
            failure = GuestError("RangeError", f"Maximum call stack size exceeded; {UNDONE}")
        elif full:  # QuickJS stops where it has no room for something that it needs
            failure = self._out_of_memory()
        else:
            failure = GuestError("EngineFailure", f"the guest stopped ({trap}); {UNDONE}")
        return Progress(notifications=output, failure=failure, state="undone", cpu_seconds=spent)


def _ear(hear: Callable[[str], None], live: LiveGuest) -> Ear:
    from interpstack_quickjs.heap.printed import Ear  # loaded here: this thread is not the loop's

    return Ear(hear, live.base.printed)
