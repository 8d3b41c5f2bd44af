"""The run of one cell in a kernel process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs

from interpstack import (
    BridgeSet,
    Cell,
    EngineFailure,
    GuestError,
    Progress,
    Settlement,
    run_guest,
)
from interpstack_javascript import KERNEL_NAME
from interpstack_javascript.cells import (
    CellTimeout,
    Prepared,
    SourceError,
    ThreadClock,
    load,
    prepared,
)
from interpstack_javascript.exchange import MEMBER_SECONDS, drained_progress
from interpstack_javascript.kept_realms.keepable_execution import KeepableExecution
from interpstack_node.endings import is_overfull, lost, remains, undone
from interpstack_node.errors import guest_error
from interpstack_node.home import Home
from interpstack_node.kernels.conversation import Callbacks, KernelAnswer
from interpstack_node.kernels.process import KernelDied, KernelProcess
from interpstack_node.kernels.stops import Stop
from interpstack_node.kernels.waiting import Talk, converse, converse_blocking
from interpstack_node.modules.questions import HostImports
from interpstack_node.printed import PrintedLines

__all__ = ["NodeExecution"]

#: The name of cells in stack traces, as in `kernel/main.js`; the cell's own replaces it.
_SCRIPT: Final = "guest:cell"
#: Seconds for the kernel's part of an end, on a busy machine.
_WIND_DOWN_SECONDS: Final = 0.5
#: Characters of a source, or bytes of an answer, that are read on the event loop.
_SMALL: Final = 16_384


class NodeExecution(KeepableExecution):
    """The run of one cell.

    Args:
        realm: Where it runs.
        cell: The cell.
    """

    def __init__(self, realm: Home, cell: Cell) -> None:
        super().__init__(cell, realm.modules, _SCRIPT)
        self._realm = realm
        self._kernel: KernelProcess | None = None
        self._prepared: Prepared | None = None
        self._begun = self._gone = self._completed = False
        self._interrupted = False
        self._stop: Stop | None = None
        self._spent = 0.0  # on preparation
        self._has_modules = False
        self._imports = HostImports(realm.files)
        self._output = PrintedLines(realm.limits.console_chars)
        self._callbacks = Callbacks(
            is_interrupted=lambda: self._interrupted,
            resolve=self._resolve,
            files=realm.files.answer,
            printed=self._output.take,
        )

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        if self._interrupted:
            return Progress(exhausted=True)
        try:
            self._make_ready(cpu_seconds)
        except CellTimeout:
            return self._late(cpu_seconds)
        except SourceError as error:
            return self._never_ran(error)
        if self._interrupted:  # while the source and the kernel were made ready
            return Progress(exhausted=True)
        try:
            answer = converse_blocking(self._talk(now, cpu_seconds))
        except KernelDied as death:
            return self._lost(death)
        return self._read(answer)

    async def apoll(
        self,
        now: float,
        cpu_seconds: float | None,
        settlements: Sequence[Settlement] = (),
        check: Callable[[Progress], Progress] = lambda progress: progress,
    ) -> Progress:
        """Poll without a thread while the guest computes.

        Where this process has to do more than a little, as for a large source, modules or the
        start of a kernel, that part runs in a guest thread.
        """
        self._has_modules = self._has_modules or any(one.modules for one in settlements)
        if self._has_modules:  # their preparation may take long
            return await super().apoll(now, cpu_seconds, settlements, check)
        self.settle(settlements)
        if self._interrupted:
            return Progress(exhausted=True)
        try:
            if self._is_quickly_ready:
                self._make_ready(cpu_seconds)
            else:
                await run_guest(partial(self._make_ready, cpu_seconds), self.interrupt)
        except CellTimeout:
            return self._late(cpu_seconds)
        except SourceError as error:
            return check(self._never_ran(error))
        if self._interrupted:  # while the source and the kernel were made ready
            return Progress(exhausted=True)
        try:
            answer = await converse(self._talk(now, cpu_seconds), self._stop_guest)
        except KernelDied as death:
            return self._lost(death)
        small = sum(map(len, answer.drained)) <= _SMALL
        if small and not any(map(self._may_look, answer.drained)):
            return check(self._read(answer))
        return await run_guest(lambda: check(self._read(answer)), lambda: None)

    def settle(self, settlements: Sequence[Settlement]) -> None:
        super().settle([self._imports.explained(one) for one in settlements])

    def abort(self, reason: str) -> Progress:
        if self._kept:
            return Progress()
        kernel = self._kernel
        if kernel is None or not self._begun or self._gone:
            self._realm.never_ran()
            return Progress()  # it never began, or has nothing left to end
        progress = Progress()
        self._realm.entered()
        try:
            answer = kernel.ask("end", seconds=_WIND_DOWN_SECONDS)
            progress = self._progress(answer)
            why = remains(answer, self._realm.limits, self._importing)
            if not why:
                self._realm.ended(answer.values)
                return progress
        except (KernelDied, EngineFailure) as error:
            why = str(error)
        self._leave_kernel()
        return undone(progress, why)

    def listen(self, hear: Callable[[str], None]) -> None:
        if not self._begun or self._output.is_heard:  # else its output comes at its end
            self._output.listen(hear)

    def interrupt(self) -> None:
        """Stop the guest, or keep a poll from beginning."""
        if not self._kept:
            self._stop_guest()

    @property
    def waits(self) -> bool:
        over = self._gone or self._completed or self._interrupted or not self._begun
        return not over and self._kernel is not None and self._kernel.alive

    def _unheard(self) -> None:
        self._output.ignored()

    # -- inside ----------------------------------------------------------------------------

    @property
    def _is_quickly_ready(self) -> bool:
        """Whether the next step needs no wait for a kernel, and no long preparation."""
        if self._begun:
            return True
        plain = self._cell.language != "typescript" and len(self._cell.source) <= _SMALL // 4
        return plain and self._realm.is_awake

    def _offered(self) -> BridgeSet:
        return self._realm.bridges

    def _ask(self, *command: Any) -> str | None:
        kernel = self._kernel
        if kernel is None or self._gone:
            return None
        try:
            answer = kernel.ask("say", json.dumps(command), seconds=MEMBER_SECONDS)
        except KernelDied:
            return None
        return None if answer.stopped else "".join(answer.drained)

    def _make_ready(self, cpu_seconds: float | None) -> None:
        """Prepare the source and the kernel, before the first poll.

        Raises:
            EngineFailure: No kernel can be started.
            CellTimeout: The cell's time is up.
            SourceError: The source does not parse.
        """
        if self._begun:
            return
        if self._prepared is None:
            load(self._cell.source, self._cell.language)
            clock = ThreadClock(cpu_seconds, lambda: self._interrupted)
            self._prepared = prepared(self._cell.source, self._cell.language, clock)
            self._spent = clock.spent
        self._kernel = self._realm.attach()

    def _never_ran(self, error: SourceError) -> Progress:
        self._completed = True
        self._realm.never_ran()
        return self._refused(error)

    def _late(self, cpu_seconds: float | None) -> Progress:
        return Progress(exhausted=True, cpu_seconds=cpu_seconds or 0.0)

    def _stop_guest(self) -> None:
        self._interrupted = True
        if self._stop is not None:
            self._stop.send()

    def _talk(self, now: float, cpu_seconds: float | None) -> Talk[KernelAnswer]:
        kernel = self._kernel
        if kernel is None:
            raise EngineFailure("a cell is polled that has no kernel")
        command = self._resume(now * 1000) if self._begun else self._begin(now * 1000)
        if not self._begun and cpu_seconds is not None:
            cpu_seconds = max(0.0, cpu_seconds - self._spent)
        self._begun = True
        self._realm.entered()
        self._stop = Stop(kernel.stops)
        return (yield from kernel.talk(command, cpu_seconds, self._callbacks, self._stop))

    def _begin(self, now_ms: float) -> list[Any]:
        words, about = self._begin_arguments(now_ms, live=self._output.is_heard)
        script = {} if self._prepared is None else self._prepared.command()
        return ["begin", json.dumps(["begin", words, {**about, **script}])]

    def _resume(self, now_ms: float) -> list[Any]:
        self._output.resumed()
        return ["resume", self._resume_command(now_ms)]

    def _resolve(self, base: str, specifier: str) -> Sequence[Any]:
        """Name and source of a module that another one imports, and why there is none."""
        name = self._modules.resolve(base, specifier)
        if name is None:
            return ["", None, f"'{specifier}' from '{base}'"]
        source = self._modules.load(name)
        if source is None and base == KERNEL_NAME:
            return [name, None, f"'{name}'"]
        return [name, source, f"'{name}'"]

    # -- answers ---------------------------------------------------------------------------

    def _read(self, answer: KernelAnswer) -> Progress:
        """The progress in an answer of a kernel that is not trusted."""
        kernel, spent = self._kernel, answer.cpu_seconds + self._spent
        self._spent = 0.0
        if is_overfull(answer, self._realm.limits):
            return attrs.evolve(self._lost(KernelDied("", memory=True)), cpu_seconds=spent)
        notices = self._realm.take_notices()
        if answer.stopped:
            return Progress(exhausted=True, cpu_seconds=spent, notices=notices)
        try:
            progress = self._progress(answer)
        except EngineFailure as error:
            if kernel is None:
                raise
            return self._lost(kernel.ended(f"was ended: {error}"))
        self._imports.note(progress.requests)
        self._completed = self._completed or progress.completion is not None
        if self._completed:
            self._realm.ended(answer.values)
        return attrs.evolve(progress, cpu_seconds=spent, notices=(*notices, *progress.notices))

    def _progress(self, answer: KernelAnswer) -> Progress:
        if not answer.drained:
            return Progress()
        if len(answer.drained) > 1:
            raise EngineFailure("the kernel answers twice")
        drained = self._drained(answer.drained[0])
        completion = self._completion(drained["completion"])
        return drained_progress(drained, completion, notices=self._notices)

    def _error(self, report: Mapping[str, str], place: Sequence[int] | None) -> GuestError:
        shifts = () if self._prepared is None else self._prepared.shifts
        found = self._faulty(report, place, shifts)
        return found or guest_error(report)

    def _lost(self, death: KernelDied) -> Progress:
        """The end of a cell whose kernel is gone, with the output that had arrived."""
        self._leave_kernel()
        progress = lost(death, self._realm.limits, self._output.text)
        return attrs.evolve(progress, notices=self._realm.take_notices())

    def _leave_kernel(self) -> None:
        self._gone = True
        self._realm.give_up()
