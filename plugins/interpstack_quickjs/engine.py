"""The engine, its realms and their executions."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from interpstack import (
    BridgeSet,
    Call,
    Capability,
    Cell,
    Completion,
    ConfigurationError,
    Engine,
    EngineFailure,
    Execution,
    GuestError,
    Image,
    ImageError,
    Isolation,
    Limits,
    Progress,
    Realm,
    Request,
    Settlement,
)
from interpstack_quickjs.base import Base, BaseHeaps
from interpstack_quickjs.cells import prepare
from interpstack_quickjs.guest import (
    STATUS_JS_ERROR,
    STATUS_OK,
    Guest,
    Heap,
    JobsPending,
    OutOfRoom,
    Trapped,
)
from interpstack_quickjs.images import pack, unpack
from interpstack_quickjs.modules import ModuleTable
from interpstack_quickjs.typescript import TypeScriptError

__all__ = ["QuickJSEngine"]

#: What WebAssembly's 32-bit addresses allow.
_MAX_MEMORY: Final = 2**32 - 65536
#: Seconds that leftovers of an aborted cell may take to wind down before they are undone.
_WIND_DOWN_SECONDS: Final = 0.05
#: Name QuickJS gives to every script, in stack traces.
_SCRIPT: Final = "eval_script"
_UNDONE: Final = "what this cell did to variables is undone"
_LANGUAGES: Final = ("javascript", "typescript")


class QuickJSEngine(Engine):
    """QuickJS in WebAssembly: the default engine, safe for untrusted code."""

    name: ClassVar[str] = "quickjs"
    language: ClassVar[str] = "javascript"
    isolation: ClassVar[Isolation] = Isolation.WASM
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)

    def __init__(self) -> None:
        self._bases = BaseHeaps()

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Realm:
        base = self._bases.get(bridges.sources_for(self.language))
        if image is None:
            realm = QuickJSRealm(base, limits, base.heap, None, ModuleTable())
        else:
            realm = QuickJSRealm(base, limits, *self._heap_of(image, base, limits))
        realm.bind(bridges)
        return realm

    def _heap_of(
        self, image: Image, base: Base, limits: Limits
    ) -> tuple[Heap, str | None, ModuleTable]:
        if image.engine != self.name:
            raise ImageError(f"the image is of engine {image.engine!r}, not {self.name!r}")
        if image.base != base.id:
            raise ImageError("the image was made by another build of the engine or its plugins")
        heap, extra = unpack(image.data, base.heap, limits.memory_bytes or _MAX_MEMORY)
        cell = extra.get("cell")
        if cell is not None and not isinstance(cell, str):
            raise ImageError("the image is damaged: its cell has no name")
        try:
            return heap, cell, ModuleTable(extra.get("modules", ""))
        except (ValueError, TypeError) as error:
            raise ImageError(f"the image is damaged: {error}") from error


class QuickJSRealm(Realm):
    """One instance of the guest, replaced by another when it is stopped in the middle."""

    def __init__(
        self, base: Base, limits: Limits, heap: Heap, cell: str | None, modules: ModuleTable
    ) -> None:
        self._base = base
        self._limits = limits
        self._bridges = BridgeSet()
        self._suspended = cell
        self.running: str | None = cell
        self.modules = modules
        self.guest = self._new_guest(heap)
        self._touched = heap is not base.heap

    def bind(self, bridges: BridgeSet) -> None:
        self._bridges = bridges
        self._offer()

    def _offer(self, undo: bool = True) -> None:
        bridges = self._bridges
        offered = [[bridge.name, bridge.awaited] for bridge in bridges if not bridge.hidden]
        shown = max(65536, 2 * self._limits.result_chars)
        given = {
            "consoleChars": self._limits.console_chars,
            "valueChars": self._limits.value_bytes,
            "renderChars": shown,
            "timers": self._limits.timers,
            "requests": self._limits.requests,
        }
        self._trusted("bind", offered, given, undo=undo)

    def start(self, cell: Cell) -> Execution:
        if cell.language is not None and cell.language not in _LANGUAGES:
            raise ConfigurationError(
                f"engine 'quickjs' runs {' and '.join(_LANGUAGES)}, not {cell.language!r}"
            )
        before = self.guest.heap() if self._touched else self._base.heap
        self._touched = True
        return QuickJSExecution(self, cell, before)

    def resume(self) -> Execution:
        if self._suspended is None:
            raise ConfigurationError("no cell was running when this image was taken")
        name, self._suspended = self._suspended, None
        return QuickJSExecution(self, Cell(source="", name=name), self.guest.heap(), started=True)

    def image(self) -> Image:
        extra = {"cell": self.running, "modules": self.modules.dump()}
        extra = {key: value for key, value in extra.items() if value}
        data = pack(self.guest.heap(), self._base.heap, extra)
        return Image(QuickJSEngine.name, self._base.id, data)

    def values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = json.loads(self._trusted("values"))
        return values

    def names(self) -> Sequence[str]:
        names: Sequence[str] = json.loads(self._trusted("names"))
        return names

    def load(self, values: Mapping[str, Any]) -> None:
        self._touched = True
        self._trusted("load", dict(values))

    @property
    def weight_bytes(self) -> int:
        return self.guest.memory_bytes

    def close(self) -> None:
        self.guest.close()

    def restore(self, heap: Heap) -> None:
        """Go on in a new instance with an earlier state."""
        self.guest.close()
        self.running = None
        self.guest = self._new_guest(heap)
        self._offer(undo=False)

    def _new_guest(self, heap: Heap) -> Guest:
        guest = Guest(self._limits.memory_bytes)
        guest.resolve_module = self.modules.resolve
        guest.load_module = self.modules.load
        guest.load(heap)
        return guest

    def dispatch(self, *command: Any) -> str:
        """Run a command of the kernel.

        Raises:
            Trapped: The instance was stopped.
            OutOfRoom: The kernel itself failed, for lack of memory or, if the guest is
                `interrupted`, of time.
        """
        guest = self.guest
        argument = guest.new_string(json.dumps(command, separators=(",", ":")))
        try:
            status, handle = guest.invoke(self._base.dispatch, argument)
            text = guest.string(handle) if status == STATUS_OK else None
            guest.free(handle)
        finally:
            guest.free(argument)
        if status != STATUS_OK:
            raise OutOfRoom(f"the kernel could not {command[0]}")
        return text or ""

    def _trusted(self, *command: Any, undo: bool = True) -> str:
        """Run a command outside a cell; code of the guest may still run in it."""
        guest = self.guest
        before = guest.heap() if self._touched and undo else self._base.heap
        with guest.runtime.ticker:
            guest.set_time(self._limits.cpu_seconds)
            try:
                return self.dispatch(*command)
            except Trapped as error:
                if undo:
                    self.restore(before)
                raise EngineFailure(f"the guest was stopped while it did {command[0]!r}") from error


class QuickJSExecution(Execution):
    """The run of one cell."""

    def __init__(self, realm: QuickJSRealm, cell: Cell, before: Heap, started: bool = False) -> None:
        self._realm = realm
        self._cell = cell
        self._before = before
        self._started = started
        self._source: str | TypeScriptError = ""
        self._ended = False
        self._idle = False  # nothing is open that could wake the guest
        self._answers: list[str] = []

    # -- the protocol ----------------------------------------------------------------------

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        guest = self._realm.guest
        if not self._started:
            self._source = _prepared(self._cell)  # not in guest time: it may load a parser first
        begun = time.thread_time()
        with guest.runtime.ticker:
            guest.set_time(cpu_seconds)
            try:
                self._run(now * 1000)
            except JobsPending:
                pass  # told by guest.interrupted below
            except Trapped as trap:
                return self._recover(trap, time.thread_time() - begun)
            except OutOfRoom:
                if not guest.interrupted:
                    return self._overfull(time.thread_time() - begun)
            spent = time.thread_time() - begun
            if guest.interrupted:
                self._ended = True
                return Progress(exhausted=True, cpu_seconds=spent)
            guest.set_time(None)
            try:
                if not guest.has_room():
                    return self._overfull(spent)
                return self._settled(self._realm.dispatch("drain"), spent)
            except OutOfRoom:
                return self._overfull(spent)

    def settle(self, settlements: Sequence[Settlement]) -> None:
        for settlement in settlements:
            self._realm.modules.add(settlement.modules)
            error = settlement.error
            if error is None:
                self._answers.append(f"[{settlement.id},false,{settlement.text}]")
            else:
                body = {"name": error.name, "message": error.message, "data": dict(error.data)}
                self._answers.append(f"[{settlement.id},true,{json.dumps(body)}]")

    def abort(self, reason: str) -> Progress:
        realm = self._realm
        realm.running = None
        self._ended = True
        guest = realm.guest
        with guest.runtime.ticker:
            guest.set_time(_WIND_DOWN_SECONDS)
            try:
                progress = self._progress(realm.dispatch("end"), 0.0)
                if realm.guest is not guest:
                    return progress  # it had run out of memory and is undone already
                guest.run_jobs()
                if not guest.interrupted and guest.has_room():
                    return progress
            except (Trapped, JobsPending, EngineFailure):
                progress = locals().get("progress", Progress())
            # What the cell left behind goes on for ever; it goes, with all the cell did.
            realm.restore(self._before)
        return progress

    def interrupt(self) -> None:
        self._realm.guest.interrupt()

    # -- inside ----------------------------------------------------------------------------

    def _run(self, now_ms: float) -> None:
        if not self._started:
            self._started = True
            self._realm.running = self._cell.name
            self._begin(now_ms)
        else:
            answers, self._answers = self._answers, []
            self._resume(now_ms, answers)
        self._realm.guest.run_jobs()

    def _begin(self, now_ms: float) -> None:
        guest, base = self._realm.guest, self._realm._base
        seed = self._cell.seed or 0
        words = [(seed >> shift) & 0xFFFFFFFF for shift in (0, 32, 64, 96)]
        told = {"now": now_ms, "script": _SCRIPT, "label": self._cell.name}
        self._realm.dispatch("begin", words, told)
        if isinstance(self._source, TypeScriptError):
            message = json.dumps(str(self._source))
            status, handle = guest.evaluate(f"throw new SyntaxError({message})")
        else:
            status, handle = guest.evaluate(self._source, "eval_async")
        function = base.track if status == STATUS_OK else base.reject
        _, ignored = guest.invoke(function, handle)
        guest.free(ignored)
        guest.free(handle)

    def _resume(self, now_ms: float, answers: list[str]) -> None:
        guest = self._realm.guest
        argument = guest.new_string(f'["resume",{now_ms!r},[{",".join(answers)}]]')
        status, handle = guest.invoke(self._realm._base.dispatch, argument)
        guest.free(handle)
        guest.free(argument)
        if status == STATUS_JS_ERROR:
            raise OutOfRoom("the guest has no room for the answers of its calls")

    def _settled(self, text: str, spent: float) -> Progress:
        progress = self._progress(text, spent)
        if progress.completion is None and self._idle and self._reached_limit():
            return self._overfull(spent)  # too little memory to tell who waits for a promise
        return progress

    def _progress(self, text: str, spent: float) -> Progress:
        drained = json.loads(text)
        self._idle = drained["idle"]
        completion = self._completion(drained["completion"])
        if completion is not None:
            self._ended = True
            self._realm.running = None
        return Progress(
            calls=[Call(name, wire) for name, wire in drained["calls"]],
            requests=[Request(*item) for item in drained["requests"]],
            cancelled=drained["cancelled"],
            completion=completion,
            cpu_seconds=spent,
        )

    def _completion(self, told: Any) -> Completion | None:
        if told is None:
            return None
        if "error" in told:
            return Completion(error=self._error(told["error"]))
        return Completion(
            text=told["text"],
            omitted_chars=told["omitted"],
            omitted_exact=told["exact"],
            handle=told["handle"],
            undefined=told["undefined"],
        )

    def _error(self, told: Mapping[str, str]) -> GuestError:
        name, message = told["name"], told["message"]
        if (name, message) == ("InternalError", "out of memory"):
            return self._out_of_memory()
        if message == "null" and not told["stack"] and self._reached_limit():
            return self._out_of_memory()  # what QuickJS throws if an error does not fit either
        if name == "InternalError" and message in ("string too long", "stack overflow"):
            name = "RangeError"
        return GuestError(name, message, told["stack"])

    def _out_of_memory(self) -> GuestError:
        # What fills the memory may be held by a global: nothing would run any more.
        self._realm.restore(self._before)
        limit = (self._realm._limits.memory_bytes or _MAX_MEMORY) // 2**20
        return GuestError("OutOfMemory", f"the guest may use {limit} MiB; {_UNDONE}")

    def _reached_limit(self) -> bool:
        """Whether the memory grew to its limit in this cell; it never shrinks."""
        now, limit = self._realm.guest.memory_bytes, self._realm._limits.memory_bytes or _MAX_MEMORY
        return now > len(self._before.memory) and now > limit - 2**20

    def _overfull(self, spent: float) -> Progress:
        self._ended = True
        output = self._output()
        return Progress(calls=output, failure=self._out_of_memory(), cpu_seconds=spent)

    def _output(self) -> list[Call]:
        """The console output of a guest that cannot tell it any more."""
        text, omitted = self._realm._base.recorded(self._realm.guest)
        return [Call("console", {"text": text, "omitted": omitted})] if text or omitted else []

    def _recover(self, trap: Trapped, spent: float) -> Progress:
        """Save the output of a stopped instance, then go back to before the cell."""
        self._ended = True
        output = self._output()
        self._realm.restore(self._before)
        if trap.by_clock:
            failure = GuestError("Timeout", f"the code computed too long in one builtin; {_UNDONE}")
        elif trap.by_recursion:
            failure = GuestError("RangeError", f"Maximum call stack size exceeded; {_UNDONE}")
        else:
            failure = GuestError("EngineFailure", f"the guest stopped ({trap}); {_UNDONE}")
        return Progress(calls=output, failure=failure, cpu_seconds=spent)


def _prepared(cell: Cell) -> str | TypeScriptError:
    try:
        return prepare(cell.source, cell.language)
    except TypeScriptError as error:
        return error
