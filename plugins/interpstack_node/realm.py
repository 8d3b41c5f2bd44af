"""A realm: the state of one guest, in a kernel process that may be replaced."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import attrs

from interpstack import (
    BridgeSet,
    Cell,
    EngineFailure,
    Execution,
    Limits,
)
from interpstack_javascript.exchange import MEMBER_SECONDS, bind_arguments
from interpstack_javascript.exported import UNDONE, ExportStopped, exported, exported_apart
from interpstack_javascript.kept_realms.keepable_realm import KeepableRealm
from interpstack_javascript.kept_realms.kept_realms import KeptRealms
from interpstack_javascript.modules import ModuleTable
from interpstack_node.execution import NodeExecution
from interpstack_node.kernels.pool import KernelPool
from interpstack_node.kernels.process import KernelDied, KernelProcess
from interpstack_node.kernels.programs import guest_programs
from interpstack_node.kernels.starting.launch import KernelConfig
from interpstack_node.modules.questions import ModuleQuestions
from interpstack_node.saved import SavedValues, read_names

__all__ = ["NodeRealm"]

#: Seconds for commands that run the kernel's own code alone.
_KERNEL_SECONDS: Final = 5.0


class NodeRealm(KeepableRealm):
    """One guest global scope.

    The kernel may end at any time. The portable values from after the last cell outlive it, and
    the next use defines them in another kernel.

    Args:
        limits: Limits of a cell.
        bridges: What is offered.
        pool: Where kernels come from.
        config: How they are started.
        files: Modules beside those of the host's loaders.
        kept: Where the engine keeps realms of cells that wait.
    """

    starts_at_once: ClassVar[bool] = True

    def __init__(
        self,
        limits: Limits,
        bridges: BridgeSet,
        pool: KernelPool,
        config: KernelConfig,
        files: ModuleQuestions,
        kept: KeptRealms[NodeRealm],
    ) -> None:
        super().__init__(kept)
        self.limits = limits
        self.files = files
        self.modules = ModuleTable()
        self._pool = pool
        self._config = config
        self.bridges = bridges
        self._lock = threading.RLock()  # against being put to rest from another thread
        self._kernel: KernelProcess | None = None
        self._offered = ""
        self._saved = SavedValues()
        self._stopped = False  # the export after the last cell was stopped
        self._running = self._closed = False
        self._is_new = False  # a kernel whose first cell has not ended
        self._notices: list[str] = []

    # -- the protocol ----------------------------------------------------------------------

    def bind(self, bridges: BridgeSet) -> None:
        self.bridges = bridges
        with self._lock:
            if self._kernel is not None and _is_usable(self._kernel):
                self._offer(self._kernel)

    def start(self, cell: Cell) -> Execution:
        self._running = True  # without the lock, which may be held while a kernel is ended
        self._execution = NodeExecution(self, cell)
        return self._execution

    def values(self) -> Mapping[str, Any]:
        if not self._saved.current:
            self._saved.save((exported_apart if self._stopped else exported)(self._read))
        return self._saved.read()

    def names(self) -> Sequence[str]:
        return read_names(self._ask("say", '["names"]', seconds=_KERNEL_SECONDS))

    def members(self, path: Sequence[str]) -> Sequence[str]:
        text = json.dumps(["members", list(path)])
        return read_names(self._ask("say", text, seconds=MEMBER_SECONDS))

    def load(self, values: Mapping[str, Any]) -> None:
        self._ask("say", json.dumps(["load", dict(values)]), seconds=_KERNEL_SECONDS)
        # At once: the kernel may be ended before anybody asks for the values.
        self._saved.loaded(exported(self._read))

    def _read(self, command: str, seconds: float) -> str:
        return self._ask("say", command, seconds=seconds)

    def discard(self) -> None:
        with self._lock:
            self._closed = True
            self._drop()

    def _lend(self, *, kept: bool) -> None:
        self._running = not kept
        self._pool.used(self)

    # -- for executions --------------------------------------------------------------------

    @property
    def is_awake(self) -> bool:
        """Whether there is a kernel that a cell can enter without a wait.

        Once a cell runs, only a kernel that is being ended at this moment holds the lock.
        """
        if not self._lock.acquire(blocking=False):
            return False
        try:
            return self._kernel is not None and _is_usable(self._kernel)
        finally:
            self._lock.release()

    @property
    def config(self) -> KernelConfig:
        """Configuration of the kernels of this realm."""
        programs = guest_programs(
            self.bridges.sources_for("javascript"),
            memory_bytes=self.limits.memory_bytes,
            readable=self._config.readable,
            scratch=self._config.scratch,
            **self.files.about,
        )
        return attrs.evolve(self._config, programs=programs)

    def attach(self) -> KernelProcess:
        """The kernel, started and filled if need be.

        Raises:
            EngineFailure: None can be started.
        """
        with self._lock:
            if self._closed:
                raise EngineFailure("the realm was closed")
            if self._kernel is not None and not _is_usable(self._kernel):
                self._drop()
            if self._kernel is None:
                undone = "" if self._saved.current else UNDONE
                self._kernel = self._open()
                self._notices += filter(None, (undone, self._saved.loss()))
            kernel = self._kernel
        self._pool.used(self)
        return kernel

    def entered(self) -> None:
        """Note that the guest may change its variables from now on."""
        self._saved.outdate()

    def ended(self, values: str | None) -> None:
        """Note the end of a cell.

        Args:
            values: The guest's variables; `None` if their export was stopped.
        """
        self._stopped = values is None
        if values is not None:
            self._saved.save(values)
        self.never_ran()

    def never_ran(self) -> None:
        """Note that a cell has ended whose kernel is gone, or that never began."""
        with self._lock:
            self._running = False
            _rest(self._kernel)
        self._replace_spare()

    def _replace_spare(self) -> None:
        """Start a kernel for the next realm, once no cell waits for this one's first answer."""
        if self._is_new:
            self._is_new = False
            self._pool.start_behind(self.config)

    def give_up(self) -> None:
        """End the kernel; the next cell finds the values that are saved."""
        with self._lock:
            self._running = False
            self._drop()
            self._saved.accept()
        self._replace_spare()

    def take_notices(self) -> tuple[str, ...]:
        """Notices about variables that were lost between cells."""
        notices, self._notices = self._notices, []
        return tuple(notices)

    def rest(self) -> None:
        """End the kernel until it is used again; functions and a kept cell are lost."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._running and self._kernel is not None:
                if not self._saved.current:
                    self._notices.append(UNDONE)
                self._drop()
                self._saved.accept()
        finally:
            self._lock.release()

    # -- kernels come and go ---------------------------------------------------------------

    def _open(self) -> KernelProcess:
        saved = self._saved.readable()
        try:
            return _at_second_attempt(partial(self._filled, saved))
        except KernelDied as death:
            if not saved:
                raise EngineFailure(f"no kernel can be started: {death}") from death
            self._saved.forget()
            self._notices.append(
                f"All variables are lost: they could not be put into a new kernel ({death})."
            )
        try:
            return self._filled({})
        except KernelDied as death:
            raise EngineFailure(f"no kernel can be started: {death}") from death

    def _filled(self, values: Mapping[str, Any]) -> KernelProcess:
        """A new kernel with these variables.

        Raises:
            KernelDied: It ended.
        """
        kernel = self._pool.take(self.config)
        try:
            kernel.start()
            self._offered = ""
            self._offer(kernel)
            if values:
                _fill(kernel, values)
        except BaseException:
            kernel.close()
            raise
        self._saved.accept()
        self._is_new = True
        return kernel

    def _offer(self, kernel: KernelProcess) -> None:
        text = json.dumps(["bind", *bind_arguments(self.bridges, self.limits)])
        if text == self._offered:
            return
        try:
            kernel.ask("say", text, seconds=_KERNEL_SECONDS)
        except KernelDied:
            if kernel is not self._kernel:
                raise
            return  # the next use starts another kernel
        self._offered = text

    def _drop(self) -> None:
        kernel, self._kernel = self._kernel, None
        self._pool.left(self)
        if kernel is not None:
            kernel.close()

    def _ask(self, *command: Any, seconds: float) -> str:
        """Run a command of the guest's kernel outside a cell.

        Raises:
            EngineFailure: The guest was stopped, or its process ended.
        """
        kernel = self.attach()
        try:
            answer = kernel.ask(*command, seconds=seconds)
        except KernelDied as death:
            self.give_up()
            raise EngineFailure(f"{death}; variables have their last saved values") from death
        if not self._running:
            kernel.rest()
        if answer.stopped:
            raise ExportStopped("the guest was stopped while its variables were read")
        return "".join(answer.drained)


def _is_usable(kernel: KernelProcess) -> bool:
    return kernel.pid_of_host == os.getpid() and kernel.alive


def _rest(kernel: KernelProcess | None) -> None:
    if kernel is not None:
        kernel.rest()


def _at_second_attempt(make: Callable[[], KernelProcess]) -> KernelProcess:
    """A new kernel, at the second attempt if need be.

    Raises:
        KernelDied: It ended.
    """
    try:
        return make()
    except KernelDied as death:
        if death.memory or death.slow:  # so it would end again
            raise
        # What ended the last kernel may have ended the one that was started ahead as well.
        return make()


def _fill(kernel: KernelProcess, values: Mapping[str, Any]) -> None:
    """Define variables in a new kernel.

    Raises:
        KernelDied: It ended, or took too long.
    """
    text = json.dumps(["load", dict(values)])
    if kernel.ask("say", text, seconds=_KERNEL_SECONDS).stopped:
        raise kernel.ended("did not take the variables in time", slow=True)
