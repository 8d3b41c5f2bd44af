"""The engine protocol: engines open realms, run cells in them and return their requests.

An engine does no host work. Guest code queues requests; the host drains the queue with
`Execution.poll`, does the work, and answers with `Execution.settle`. Both take everything at once,
so a hundred parallel tool calls cost two crossings.

All methods but `apoll` and `off_loop` are synchronous and may be called from any thread, but never
from two at once for one realm. Errors of a guest are data in the returned `Progress`; an exception
out of these methods means that the engine is broken (`EngineFailure`) or was used wrongly.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from interpstack.contracts.bridges import BridgeSet
from interpstack.contracts.errors import ConfigurationError
from interpstack.contracts.limits import Limits
from interpstack.contracts.protocol import Cell, Image, Progress, Settlement
from interpstack.threads import run_guest

__all__ = ["Capability", "Engine", "Execution", "Isolation", "Realm"]


class Isolation(Enum):
    """The barrier between guest code and the host."""

    NONE = "none"  #: guest and host share memory; for trusted code and tests
    #: a language VM's own heap inside the host process; what the VM allocates outside of that heap,
    #: for example to compile, no limit bounds
    ISOLATE = "isolate"
    WASM = "wasm"  #: a WebAssembly sandbox inside the host process
    PROCESS = "process"  #: a process of its own
    REMOTE = "remote"  #: another machine


class Capability(Enum):
    """Abilities of an engine beyond running cells; declared, and tested by the kit."""

    CPU_LIMIT = "cpu-limit"  #: stops guest code that computes too long
    MEMORY_LIMIT = "memory-limit"  #: ends a cell that wants too much memory, not the host
    IMAGES = "images"  #: `Realm.image` and `Engine.open(image=…)`
    SUSPENSION = "suspension"  #: an image taken during a cell can be continued elsewhere
    KEPT_REALMS = "kept-realms"  #: the engine keeps the realm of a cell that waits, to go on once
    VALUES = "values"  #: `Realm.values` and `Realm.load`
    MODULES = "modules"  #: `import()` of modules that the host resolves
    DETERMINISM = "determinism"  #: same seed, clock and settlements give the same run
    UNDO = "undo"  #: `Execution.undo` takes back what a cell did to variables


class Execution(abc.ABC):
    """The resumable run of one cell."""

    @abc.abstractmethod
    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        """Run the guest until it is idle, has ended, or is out of CPU time.

        Args:
            now: The host's time in seconds since 1970. The guest's clock shows it at the first
                reading of a cell; each reading moves that clock, and no poll puts it back (see
                `GuestClock`).
            cpu_seconds: Remaining guest time of this cell; `None` for no limit.

        Returns:
            Everything queued since the last poll. After a progress with `exhausted` or
            `failure` only `abort` may follow. After one with `completion` requests that are
            still open may be settled and polled for; the guest can make no new ones.

        Raises:
            EngineFailure: The engine broke; the realm must be closed.
        """

    @abc.abstractmethod
    def settle(self, settlements: Sequence[Settlement]) -> None:
        """Answer any number of open requests. Runs no guest code; the next poll does.

        An id that is not open is ignored: the guest may have cancelled the request.
        """

    async def apoll(
        self,
        now: float,
        cpu_seconds: float | None,
        settlements: Sequence[Settlement] = (),
        check: Callable[[Progress], Progress] = lambda progress: progress,
    ) -> Progress:
        """Settle and poll, for a caller on an event loop.

        By default, this calls `settle` and `poll` in a guest thread. An engine that waits for
        guests elsewhere overrides it, so that they hold no guest thread. When the caller is
        cancelled, it waits until the guest has stopped: no other code may use the realm before.

        Args:
            now: See `poll`.
            cpu_seconds: See `poll`.
            settlements: See `settle`.
            check: Checks the progress; takes time in proportion to it, so not on the event loop.

        Raises:
            EngineFailure: The engine broke; the realm must be closed.
        """
        turn = partial(self.advance, now, cpu_seconds, settlements, check)
        return await run_guest(turn, self.interrupt)

    def advance(
        self,
        now: float,
        cpu_seconds: float | None,
        settlements: Sequence[Settlement],
        check: Callable[[Progress], Progress],
    ) -> Progress:
        """Settle, poll and check in the caller's own thread."""
        if settlements:
            self.settle(settlements)
        return check(self.poll(now, cpu_seconds))

    @abc.abstractmethod
    def abort(self, reason: str) -> Progress:
        """End the run now; open requests are forgotten, later answers to them ignored.

        Returns:
            Calls that were still queued, so that no output is lost. `failure` is set when the
            guest could not be stopped without undoing what the cell did. Aborting an
            execution that has ended only hands out the calls.
        """

    def undo(self) -> None:
        """Restore the realm's state from before this cell. Needs `Capability.UNDO`.

        Called once the run was aborted; the cell will be run again.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot take back what a cell did")

    def listen(self, hear: Callable[[str], None]) -> None:  # noqa: B027 - optional
        """Pass console output on as it comes. Called once, before the first poll.

        By default, this does nothing: output then comes only with calls.

        Args:
            hear: Takes parts of the text that the next call of the bridge `console` will deliver,
                in order, from its beginning on. It returns at once, and may be called from any
                thread, by one at a time.
        """

    def interrupt(self) -> None:  # noqa: B027 - optional
        """Make a poll in another thread return soon, as if out of CPU time.

        The one method that may be called while another runs; it may also be called just before
        the poll begins, while the poll waits for its thread. By default, this does nothing: the
        poll then ends when its CPU time does.
        """


class Realm(abc.ABC):
    """One live guest global scope."""

    starts_at_once: ClassVar[bool] = False  #: `start` neither copies nor waits: no thread is needed

    @abc.abstractmethod
    def bind(self, bridges: BridgeSet) -> None:
        """Offer exactly these bridges from now on. Never called while a cell runs."""

    @abc.abstractmethod
    def start(self, cell: Cell) -> Execution:
        """Prepare a cell; its code runs in the first poll. One execution at a time."""

    @abc.abstractmethod
    def close(self) -> None:
        """Free everything. Closing twice is allowed."""

    def image(self) -> Image:
        """Take the whole state. Needs `Capability.IMAGES`; with `SUSPENSION` also mid-cell.

        The image has a checksum. With `KEPT_REALMS`, only mid-cell: the engine keeps the realm.
        """
        raise NotImplementedError(f"{type(self).__name__} has no images")

    def resume(self, before: Image | None = None) -> Execution:
        """The execution that was running when this realm's image was taken.

        Args:
            before: The state to put back if the cell is undone; by default, that of the image.

        Raises:
            ImageError: `before` is damaged or of another build.
        """
        raise NotImplementedError(f"{type(self).__name__} cannot suspend")

    def values(self) -> Mapping[str, Any]:
        """The guest's own globals as wire trees, `{"$": "lost", "v": reason}` for the rest.

        A value is lost if loading it would make another one of it: wire trees hold copies. Where
        variables share an object, a tree may refer to it; see `interpstack.values.decoding`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no portable values")

    def load(self, values: Mapping[str, Any]) -> None:
        """Define globals from `values()`, in any order, or from a part of it.

        Lost values throw when code reads them, and so do those that refer to nothing.
        """
        raise NotImplementedError(f"{type(self).__name__} has no portable values")

    def names(self) -> Sequence[str]:
        """Names of the guest's own globals; effectively the keys of `values()`."""
        return tuple(self.values())

    def members(self, path: Sequence[str]) -> Sequence[str]:
        """Names that may follow a dotted path in code; by default none.

        Runs no getter and changes nothing. The names are the guest's, and untrusted.

        Args:
            path: A global, then members of it.

        Raises:
            EngineFailure: The guest was stopped, because it took too long.
        """
        return ()


class Engine(abc.ABC):
    """Makes realms of one guest language. One instance serves a whole stack.

    A plugin registers its engines with the hook `interpstack_register_engine`. The entry point of
    the plugin, in the group `interpstack`, has the engine's name.
    """

    name: ClassVar[str]  #: registered, as in `InterpreterStack(engine="quickjs")`
    #: The guest language, as in `javascript`; empty if another engine's is run (`around`).
    language: ClassVar[str]
    dialects: ClassVar[tuple[str, ...]] = ()  #: other languages of cells, as `typescript`
    isolation: ClassVar[Isolation]
    capabilities: ClassVar[frozenset[Capability]]
    #: Default options in a worker process, which is ended when a guest does not stop by itself.
    worker_options: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    not_in_workers: ClassVar[str] = ""  #: why no worker process may run it; empty if one may
    reserves_memory: ClassVar[bool] = False  #: realms reserve far more memory than they hold

    @classmethod
    def languages(cls) -> tuple[str, ...]:
        """Names of all languages that a cell may be in; the engine's own comes first."""
        return (cls.language, *cls.dialects)

    @classmethod
    def check_language(cls, cell: Cell) -> None:
        """Refuse a cell in a language that the engine does not run.

        Raises:
            ConfigurationError: The message names the languages that it runs.
        """
        if cell.language is not None and cell.language not in cls.languages():
            raise ConfigurationError(
                f"engine {cls.name!r} runs {' and '.join(cls.languages())}, not {cell.language!r}"
            )

    @classmethod
    def around(cls, inner: type[Engine]) -> type[Engine]:
        """The engine class asked for as `outer:inner`: this one, running guests of `inner`.

        Raises:
            ConfigurationError: It cannot run that engine.
        """
        raise ConfigurationError(
            f"engine {cls.name!r} cannot run another engine; name {inner.name!r} alone"
        )

    @classmethod
    def options_beside(cls, file: Path) -> Mapping[str, Any]:
        """Options with which code of a file may import what is beside it; by default none.

        Args:
            file: The file, which exists.
        """
        return {}

    @property
    def runs(self) -> type[Engine]:
        """The engine whose guests it runs: effectively itself; that of `inner` in `outer:inner`."""
        return type(self)

    @abc.abstractmethod
    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        """Make a realm, new or from an image.

        Raises:
            ImageError: The image is damaged or of another build. Nothing was opened.
            EngineFailure: No realm can be made on this machine.
        """

    async def off_loop(self, function: Callable[[], None]) -> None:
        """Call a function that opens or closes a realm, by default in a guest thread."""
        await run_guest(function, lambda: None)

    def close(self) -> None:  # noqa: B027 - optional
        """Free the resources that all realms share. Does nothing by default."""
