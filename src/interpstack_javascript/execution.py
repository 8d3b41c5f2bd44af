"""The run of one cell, as far as it is the same in every engine that uses the kernel."""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import attrs

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.engine import Execution
from interpstack.contracts.errors import EngineFailure
from interpstack.contracts.protocol import Cell, Completion, GuestError, Progress, Settlement
from interpstack_javascript.cells import fault_of
from interpstack_javascript.drained import read_drained
from interpstack_javascript.errors import SourceError
from interpstack_javascript.exchange import (
    answer_text,
    read_answer,
    resume_text,
    seed_words,
    value_completion,
)
from interpstack_javascript.modules import ModuleTable
from interpstack_javascript.turns.guest_threads import guest_threads

if TYPE_CHECKING:
    from interpstack.guests import Looked
    from interpstack_javascript.edits import Shifts

__all__ = ["KernelExecution"]

#: Why `seal` of the kernel closes it.
_CLOSED: Final = (
    "Object.prototype takes no new properties here, because every object would inherit them, "
    "answers of tools included; write a function or a class"
)
#: A property of `Object.prototype` that code sets; sloppy code is not told that nothing was set.
_EXTENDS: Final = re.compile(
    r"\bObject\s*\.\s*prototype\s*(?:\.\s*([\w$]+)|\[\s*[\"']([^\"'\n]{1,100})[\"']\s*\])"
    r"\s*(?:[-+*/%&|^]|\*\*|<<|>>>?|\?\?|\|\||&&)?=(?![=>])"
)
#: What it has, and takes other values for.
_OWN: Final = frozenset({
    "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString",
    "toString", "valueOf",
})  # fmt: skip
#: Errors that may be about something that is not there.
_MISSING: Final = ("ReferenceError", "TypeError")
#: Characters at the end of a cell that tell whether its value is a property.
_TAIL: Final = 200
#: How a cell ends whose value is a property: with a name or an index.
_ENDS_WITH_MEMBER: Final = re.compile(r"[.\[].*[\w$\]][\s;]*\Z|\.\s*[\w$]+[\s;)]*\Z", re.DOTALL)
#: How a list begins whose first item is `undefined`, as the kernel shows it.
_NOTHING_FIRST: Final = re.compile(r"\[\s*undefined\b")


class KernelExecution(Execution):
    """An execution whose guest runs the kernel: it puts commands together and reads answers.

    Args:
        cell: The cell to run.
        modules: Sources that the guest may import; answers add to them.
        script: The name that the engine gives to the cell's script in stack traces.
    """

    def __init__(self, cell: Cell, modules: ModuleTable, script: str) -> None:
        self._cell = cell
        self._modules = modules
        self._script = script
        self._importing = False
        self._answers: list[str] = []
        self._notices: tuple[str, ...] = ()  # about the value of the cell

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            if settlement.modules:
                clash = self._modules.clash(settlement.modules, settlement.specifier)
                if clash:
                    error = GuestError(self._missing_module(), clash)
                    self._answers.append(answer_text(Settlement(settlement.id, error=error)))
                    continue
                self._modules.add(settlement.modules, settlement.specifier)
            self._answers.append(answer_text(settlement))

    async def apoll(
        self,
        now: float,
        cpu_seconds: float | None,
        settlements: Sequence[Settlement] = (),
        check: Callable[[Progress], Progress] = lambda progress: progress,
    ) -> Progress:
        """Settle and poll in a guest thread; short turns are waited for in place."""
        turn = partial(self.advance, now, cpu_seconds, settlements, check)
        return await guest_threads.run(id(self), turn, self.interrupt)

    @abc.abstractmethod
    def _error(self, report: Mapping[str, str], place: Sequence[int] | None) -> GuestError:
        """The error that a cell ended with.

        Args:
            report: Name, message and stack, as the kernel describes the error.
            place: Line and column of a syntax error, if the engine reported them.
        """

    def _offered(self) -> BridgeSet | None:
        """The functions on offer; `None` if errors should not name the nearest of them."""
        return None

    def _missing_module(self) -> str:
        """The name of the error of an import that finds no module."""
        bridges = self._offered()
        return "ModuleNotFound" if bridges is None else bridges.error_name("ModuleNotFound")

    def _ask(self, *command: Any) -> str | None:
        """The kernel's answer to a command at the end of the cell; `None` if there is none."""
        return None

    def _begin_arguments(self, now_ms: float, *, live: bool) -> tuple[list[int], dict[str, Any]]:
        """The arguments of the kernel's command `begin`: the seed and the cell's other properties.

        Args:
            now_ms: The guest's clock, in milliseconds since 1970.
            live: Whether console output is delivered while the cell runs.
        """
        about = {
            "now": now_ms,
            "script": self._script,
            "label": self._cell.name,
            "live": live,
            "valueName": self._cell.value_name,
        }
        return seed_words(self._cell.seed), about

    def _resume_command(self, now_ms: float) -> str:
        """The kernel's command `resume`, with the answers that have arrived since the last one."""
        answers, self._answers = self._answers, []
        return resume_text(now_ms, answers)

    def _refused(self, error: SourceError) -> Progress:
        """The end of a cell that cannot be prepared: no code of it runs."""
        from interpstack_javascript.positions import faulty  # loaded for faulty cells only

        found = faulty(self._cell, error.offset, "SyntaxError", str(error))
        return Progress(completion=Completion(error=found))

    def _faulty(
        self, report: Mapping[str, str], place: Sequence[int] | None, shifts: Shifts
    ) -> GuestError | None:
        """A syntax error that the engine found, with its place; `None` if it tells no place.

        Args:
            report: Name and message of the error.
            place: Line and column in the script, as an engine that is not trusted tells them.
            shifts: The table of the script.
        """
        if place is None or len(place) != 2 or any(type(number) is not int for number in place):
            return None
        from interpstack_javascript.positions import faulty, offset_in

        fault = fault_of(self._cell.source)
        if fault is not None:  # in the words, and at the place, of a cell that is not run
            return faulty(self._cell, fault.offset, "SyntaxError", str(fault))
        offset = offset_in(self._cell.source, shifts, *place)
        if offset is None:
            return None
        return faulty(self._cell, offset, report["name"], report["message"])

    def _drained(self, text: str) -> dict[str, Any]:
        """The kernel's answer to `drain` or `end`.

        Raises:
            EngineFailure: The answer has another form: the guest's memory is damaged.
        """
        drained = read_drained(text)
        self._importing = bool(drained["importing"])
        return drained

    def _completion(self, report: Any) -> Completion | None:
        """The end of the cell, from the kernel's report; `None` if the cell continues."""
        if report is None:
            return None
        if "error" not in report:
            completion = value_completion(report)
            if completion.undefined or completion.text.startswith("["):
                self._notices = self._remarks(completion)
            self._notices = (*_closed_notices(self._cell), *self._notices)
            return completion
        error = self._error(report["error"], report.get("place"))
        error = _naming_closed(error, self._cell)
        if _CLOSED not in error.message:
            self._notices = _closed_notices(self._cell)
        is_explained = report.get("explained") is True
        if not is_explained and error.name in (*_MISSING, self._missing_module()):
            from interpstack_javascript.advice.advising import advised  # loaded for an error only

            error = advised(error, self._cell, self._offered(), self._look)
        return Completion(error=error)

    def _may_look(self, drained: str) -> bool:
        """Whether `_completion` may ask the kernel once more, after this answer to `drain`."""
        if '"completion":{"error"' in drained:
            return True
        is_undefined = '"undefined":true' in drained
        return (is_undefined and self._ends_with_member()) or '"text":"[' in drained

    def _ends_with_member(self) -> bool:
        return _ENDS_WITH_MEMBER.search(self._cell.source[-_TAIL:]) is not None

    def _remarks(self, completion: Completion) -> tuple[str, ...]:
        """A notice for a value that is not what the author of the cell meant."""
        if completion.undefined:
            is_suspect = self._ends_with_member()
        else:
            is_suspect = completion.handle or _NOTHING_FIRST.match(completion.text) is not None
        if not is_suspect:
            return ()
        from interpstack_javascript.advice.advising import noticed

        notice = noticed(self._cell, completion, self._offered(), self._look)
        return (notice,) if notice else ()

    def _look(self, paths: Sequence[Sequence[str | int | None]]) -> Sequence[Looked]:
        """What the guest has along these paths; nothing where it cannot tell."""
        text = self._ask("look", list(paths))
        if text is None:
            return ()
        from interpstack.guests import Looked

        try:
            return Looked.read(read_answer(text), len(paths))
        except EngineFailure:
            return ()


def _closed_notices(cell: Cell) -> tuple[str, ...]:
    """A notice for a cell that sets a new property of `Object.prototype`; nothing was set."""
    for found in _EXTENDS.finditer(cell.source):
        if (found[1] or found[2]) not in _OWN:
            return (f"{_CLOSED}.",)
    return ()


def _naming_closed(error: GuestError, cell: Cell) -> GuestError:
    """Return the error with a reason, if the cell adds a property to `Object.prototype`."""
    refused = error.name == "TypeError" and "object is not extensible" in error.message
    if not refused or "Object.prototype" not in cell.source:
        return error
    return attrs.evolve(error, message=f"{error.message}; {_CLOSED}")
