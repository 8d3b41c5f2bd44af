"""The heap of a realm: live or hibernated, lost and replaced."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Final

from interpstack import BridgeSet, EngineFailure, Limits
from interpstack_javascript.exchange import read_answer
from interpstack_javascript.exported import (
    EXPORT_SECONDS,
    UNDONE,
    ExportStopped,
    Losses,
    exported_apart,
)
from interpstack_javascript.modules import ModuleTable
from interpstack_v8.awake_realms import awake_realms
from interpstack_v8.fresh_isolates import KERNEL_SECONDS, FreshIsolates
from interpstack_v8.isolates.abandoned import TooManyAbandoned
from interpstack_v8.isolates.failures import CellTimeout, IsolateLost
from interpstack_v8.isolates.host_functions import GuestAnswer
from interpstack_v8.isolates.isolate import Isolate
from interpstack_v8.isolates.owner import refuse_forked

__all__ = ["RealmHeap"]

#: The saved values of a realm without variables.
_NOTHING: Final = "{}"
#: Bytes that an export which failed may have left: as many as can be.
_UNKNOWN: Final = 2**62


class RealmHeap:
    """The variables of a realm: in an isolate while it is awake, and as portable values.

    `saved` outlives the isolate: the portable values from before the last cell, as the JSON object
    that the kernel wrote. Python reads the text only where values are asked for; a new isolate
    takes the text as it is.

    Args:
        limits: Limits of a cell.
        bridges: The bridges on offer.
        modules: Sources that the guest may import.
        give_up_seconds: As of the engine.
    """

    def __init__(
        self,
        limits: Limits,
        bridges: BridgeSet,
        modules: ModuleTable,
        give_up_seconds: float | None,
    ) -> None:
        self.limits, self.bridges = limits, bridges
        self.saved = _NOTHING
        self.running = False
        self.kept = False
        self._fresh = FreshIsolates(limits, bridges, modules, give_up_seconds)
        self._pid = os.getpid()
        self._lock = threading.Lock()  # against being put to sleep from another thread
        self._isolate: Isolate | None = None
        self._saved_is_new = True
        self._began_current = True  # the running cell began with the values that are saved
        self._export: Future[GuestAnswer] | None = None  # on its way, of the last cell's end
        self._notices: list[str] = []
        self._losses = Losses()
        #: Bytes in the heap or in buffers, garbage included, after the last export of values.
        self.left_bytes = 0
        self._closed = False
        self._awake()

    # -- cells and values ------------------------------------------------------------------

    def bind(self, bridges: BridgeSet) -> None:
        """Offer other bridges from now on."""
        refuse_forked(self._pid)
        self.bridges = bridges
        self._fresh.bind(bridges)
        with self._lock:
            if self._isolate is None:
                return
            try:
                self._fresh.offer(self._isolate)
            except (CellTimeout, IsolateLost):
                self._lose(self._saved_is_new)
                self._awake()

    def begin(self) -> None:
        """Note that a cell begins, and save the values from before it."""
        refuse_forked(self._pid)
        with self._lock:
            self.running = True
        self.save()
        self._began_current = self._saved_is_new
        self._saved_is_new = False

    def fresh_values(self) -> Mapping[str, Any]:
        """The values as they are now.

        Raises:
            EngineFailure: They could not be exported or read.
        """
        self._saved_is_new = False
        self.save()
        if not self._saved_is_new:
            raise EngineFailure("the guest's values could not be exported in time")
        values: Mapping[str, Any] = read_answer(self.saved)
        return values

    def load(self, values: Mapping[str, Any]) -> None:
        """Define variables by their portable values."""
        self._saved_is_new = False
        self.changes()
        self.say("load", dict(values))
        self._losses.known(values)

    def close(self) -> None:
        """Give everything back, for good."""
        if self._pid != os.getpid():
            return  # all that it has is in the parent of this process
        with self._lock:
            self._closed = True
            self._drop()

    def changes(self) -> None:
        """Discard the running export, because the guest may change its values now."""
        self._export = None

    def ended(self, isolate: Isolate) -> None:
        """Note the end of a cell; its values are exported in the background."""
        with self._lock:
            self._export = isolate.send("say", '["values"]', seconds=EXPORT_SECONDS)
            self.running = False

    def lend(self, *, kept: bool) -> None:
        """Note whether the running cell is kept, so that other realms may take its heap."""
        with self._lock:
            self.kept = kept
        awake_realms.used(self)

    # -- isolates come and go --------------------------------------------------------------

    @property
    def isolate(self) -> Isolate:
        """The live heap; woken if the realm slept."""
        refuse_forked(self._pid)
        with self._lock:
            return self._awake()

    def holds(self, isolate: Isolate) -> bool:
        """Whether this isolate is the live heap."""
        return self._isolate is isolate and not self._closed and self._pid == os.getpid()

    def never_ran(self) -> None:
        """Note that a cell has ended whose heap is gone, or that never began."""
        self.running = False

    def replace(self) -> Isolate:
        """A new heap for the running cell, as the old one is lost, or full by earlier cells."""
        with self._lock:
            self._lose(self._began_current)
            return self._awake()

    def take_notices(self) -> tuple[str, ...]:
        """Notices about heaps that were lost between cells."""
        notices, self._notices = self._notices, []
        return tuple(notices)

    def reopen(self) -> None:
        """Continue in a new heap, with the portable values from before the last cell."""
        with self._lock:
            self.running = False
            self._drop()
            self._saved_is_new = True
            with suppress(TooManyAbandoned):  # the next cell tries again
                self._awake()

    def forsake(self, notice: str) -> None:
        """Leave the heap behind; the next cell finds the values from before the last one.

        Args:
            notice: The notice for the reader of the next cell.
        """
        with self._lock:
            self.running = False
            self._drop()
            self._saved_is_new = True
            self._notices.append(notice)

    def rest(self) -> None:
        """Give heap and thread back until they are used; functions and a kept cell are lost."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._isolate is None or (self.running and not self.kept):
                return
            if not self.kept:
                self._save(self._isolate)
                if self._isolate is not None and not self._saved_is_new:
                    self._notices.append(UNDONE)
            self._drop()
        finally:
            self._lock.release()

    def save(self) -> None:
        """Export the values, unless they were exported since the last cell.

        If the export fails, because the names themselves cannot be read, the earlier values stay.
        """
        refuse_forked(self._pid)
        with self._lock:
            if not self._saved_is_new:
                self._save(self._awake())

    def _save(self, isolate: Isolate) -> None:
        export, self._export = self._export, None
        if export is None:
            export = isolate.send("say", '["values"]', seconds=EXPORT_SECONDS)
        try:
            answer = export.result()
            self.saved, self._saved_is_new = answer.text, True
            self.left_bytes = max(answer.heap, answer.buffers)
        except (CellTimeout, EngineFailure):
            self._save_apart(isolate)
        except IsolateLost:
            self._lose(saved=False)

    def _save_apart(self, isolate: Isolate) -> None:
        """Export one variable after another, as the export of all of them was stopped."""

        def ask(command: str, seconds: float) -> str:
            try:
                return isolate.send("say", command, seconds=seconds).result().text
            except (CellTimeout, EngineFailure) as error:
                raise ExportStopped(f"the guest was stopped: {error}") from error

        self.left_bytes = _UNKNOWN
        try:
            self.saved, self._saved_is_new = exported_apart(ask), True
        except EngineFailure:
            return
        except IsolateLost:
            self._lose(saved=False)

    def _lose(self, saved: bool) -> None:
        """Give a heap up that is of no use any more.

        Args:
            saved: Whether the values are from after the last cell.
        """
        self._drop()
        self.left_bytes = 0
        became = (
            "variables were restored from their values"
            if saved
            else "that cell's changes to variables were undone"
        )
        self._notices.append(
            f"The guest's memory was full after the last cell: {became}; functions and classes "
            "are lost."
        )

    def _awake(self) -> Isolate:
        if self._closed:
            raise EngineFailure("the realm was closed")
        isolate = self._isolate
        if isolate is None:
            isolate = self._fresh.open()
            if self.saved != _NOTHING and not self._fresh.fill(isolate, self.saved):
                isolate.close()
                self.saved = _NOTHING
                self._notices.append("The guest's heap was lost, and all variables with it.")
                return self._awake()
            self._tell_losses()
            self._isolate = isolate
            self._saved_is_new = True
        awake_realms.used(self)
        return isolate

    def _tell_losses(self) -> None:
        """Name the variables that a new heap cannot have, as they have no portable value."""
        if '"lost"' in self.saved and (notice := self._losses.notice(read_answer(self.saved))):
            self._notices.append(notice)

    def _drop(self) -> None:
        isolate, self._isolate, self._export = self._isolate, None, None
        awake_realms.left(self)
        if isolate is not None:
            isolate.close()

    def say(self, *command: Any, seconds: float = KERNEL_SECONDS) -> str:
        """Run a command of the kernel outside a cell.

        Raises:
            EngineFailure: The export failed; effects of the last cell are undone if the heap was
                lost.
        """
        text = json.dumps(command, separators=(",", ":"))
        try:
            return self.isolate.enter("say", text, seconds=seconds).text
        except CellTimeout as error:
            raise EngineFailure(f"the guest was stopped while it did {command[0]!r}") from error
        except IsolateLost as error:
            self.reopen()
            raise EngineFailure(f"the guest was lost while it did {command[0]!r}") from error
