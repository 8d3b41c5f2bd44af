"""The service in a worker: the realms of one engine, by number, behind a connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from interpstack import (
    Capability,
    Cell,
    ConfigurationError,
    Engine,
    EngineFailure,
    Execution,
    Image,
    ImageError,
    Limits,
    Progress,
    Realm,
)
from interpstack.values import from_json, to_json
from interpstack_workers.messages import (
    PRINTED_CHARS,
    read_bridges,
    read_settlements,
)
from interpstack_workers.redo import mark_of

__all__ = ["Reply", "Service"]

_MESSAGE_CHARS: Final = 10_000
_NOTHING: Final[Mapping[str, Any]] = {}
#: An answer: a message and the bytes that go with it.
Reply = tuple[dict[str, Any], bytes]


class Service:
    """Carries out the host's commands, one after another.

    Args:
        engine: The engine that runs the guests.
        tell: Sends the host a message before the answer.
        keep: Whether to hand states over to the host, so that realms can be opened again after this
            process has died.
    """

    def __init__(
        self, engine: Engine, tell: Callable[[dict[str, Any], bytes], None], *, keep: bool
    ) -> None:
        self._engine = engine
        self._keep = keep
        self._tell = tell
        self._realms: dict[int, Realm] = {}
        self._executions: dict[int, Execution] = {}
        #: Number of the command that runs guest code now, and its execution.
        self.running: tuple[int, Execution] | None = None

    def answer(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        """Run a command, and return its answer or the engine's refusal."""
        self.leave(message["leave"])
        command: Callable[[Mapping[str, Any], bytes], Reply] = getattr(self, f"do_{message['do']}")
        try:
            return command(message, attached)
        except MemoryError:
            raise  # nothing can be relied on any more
        except Exception as error:  # noqa: BLE001 - an engine that breaks may raise anything
            return {"error": _described(error)}, b""

    def leave(self, numbers: Sequence[int]) -> None:
        """Close the realms of these numbers."""
        for number in numbers:
            self._forget(number)

    # -- commands --------------------------------------------------------------------------

    def do_open(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        image = _image(message["image"], attached)
        number = message["realm"]
        bridges = read_bridges(message["bridges"])
        realm = self._engine.open(from_json(Limits, message["limits"]), bridges, image)
        self._realms[number] = realm
        if message["values"] is not None:
            realm.load(message["values"])
        for inputs in message["redo"]:
            self._repeat(number, inputs)
        return {"done": None}, b""

    def do_leave(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        return {"done": None}, b""  # `answer` has done it

    def do_poll(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        number = message["realm"]
        realm = self._bound(message)
        if message["cell"] is not None:
            self._executions[number] = realm.start(from_json(Cell, message["cell"]))
            if message.get("listen"):
                self._executions[number].listen(partial(self._printed, self._executions[number]))
        elif message["resume"]:
            before = _image(message["before"], attached)
            self._executions[number] = realm.resume(before) if before else realm.resume()
        execution = self._executions[number]
        if message["settle"]:
            execution.settle(read_settlements(message["settle"]))
        self.running = (message["number"], execution)
        try:
            progress = execution.poll(message["now"], message["cpu"])
        finally:
            self.running = None
        return self._progressed(number, progress, *message["spare"])

    def do_abort(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        number = message["realm"]
        realm = self._realm(number)
        progress = self._executions[number].abort(message["reason"])
        return self._with_state(realm, to_json(progress))

    def do_undo(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        realm = self._realm(message["realm"])
        self._executions[message["realm"]].undo()
        return self._with_state(realm, None)

    def do_image(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        image = self._realm(message["realm"]).image()
        return {"done": [image.engine, image.base]}, image.data

    def do_values(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        return {"done": dict(self._bound(message).values())}, b""

    def do_names(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        return {"done": list(self._bound(message).names())}, b""

    def do_members(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        return {"done": list(self._bound(message).members(json.loads(attached)))}, b""

    def do_load(self, message: Mapping[str, Any], attached: bytes) -> Reply:
        realm = self._bound(message)
        realm.load(json.loads(attached))
        return self._with_state(realm, None)

    def _printed(self, execution: Execution, part: str) -> None:
        """Send output of a guest while its command runs; may be called from any thread."""
        running = self.running
        if running is None or running[1] is not execution:
            return  # it comes with the calls
        for at in range(0, len(part), PRINTED_CHARS):
            piece = part[at : at + PRINTED_CHARS]
            self._tell({"printed": piece, "number": running[0]}, b"")

    # -- inside ----------------------------------------------------------------------------

    def _bound(self, message: Mapping[str, Any]) -> Realm:
        realm = self._realm(message["realm"])
        self._bind(realm, message)
        return realm

    def _realm(self, number: int) -> Realm:
        """The realm of this number, which only the host that opened it last has.

        Raises:
            EngineFailure: There is none: the host has left it, or opened it elsewhere since.
        """
        if number not in self._realms:
            raise EngineFailure(f"realm {number} is not open here: it was left, or moved away")
        return self._realms[number]

    def _bind(self, realm: Realm, message: Mapping[str, Any]) -> None:
        if message["bridges"] is not None:
            realm.bind(read_bridges(message["bridges"]))

    def _repeat(self, number: int, inputs: Mapping[str, Any]) -> None:
        """Run a cell again as far as another worker has run it, up to its result or a call.

        Raises:
            ImageError: The cell did something else this time.
        """
        realm = self._realms[number]
        realm.bind(read_bridges(inputs["bridges"]))
        cell = inputs["cell"]
        execution = realm.resume() if cell is None else realm.start(from_json(Cell, cell))
        self._executions[number] = execution
        for now, settlements, mark in inputs["polls"]:
            execution.settle(read_settlements(settlements))
            if mark_of(to_json(execution.poll(now, None))) != mark:
                raise ImageError("a cell that was repeated from its inputs did something else")

    def _progressed(
        self, number: int, progress: Progress, spare: float | None, spare_at_end: float
    ) -> Reply:
        """A progress, with the guest's state if the host does not repeat the cell instead.

        Args:
            number: The number of the realm.
            progress: The progress.
            spare: CPU seconds up to which the host repeats the cell; `None` if it never needs the
                state in the middle of one.
            spare_at_end: Likewise, at the end of the cell; 0 if it always needs the state.
        """
        packed = to_json(progress)
        done = {"done": packed, "mark": mark_of(packed)}
        realm, seconds = self._realms[number], progress.cpu_seconds
        if progress.completion is not None or progress.failure is not None:
            undone = progress.state == "undone" and spare_at_end > 0
            repeated = progress.failure is None and seconds < spare_at_end
            return (done, b"") if undone or repeated else self._with_state(realm, packed, done)
        if spare is None or seconds < spare or progress.exhausted:
            return done, b""
        image = realm.image()
        return {**done, "middle": [image.engine, image.base]}, image.data

    def _with_state(self, realm: Realm, done: Any, more: Mapping[str, Any] = _NOTHING) -> Reply:
        kept, attached = self._state(realm)
        return {"done": done, **more, "kept": kept}, attached

    def _state(self, realm: Realm) -> Reply:
        """The state from which the host can open the realm again elsewhere."""
        capabilities = self._engine.capabilities
        if not self._keep:
            return {"lost": "states are not kept (keep_state)"}, b""
        try:
            if Capability.IMAGES in capabilities:
                image = realm.image()
                return {"image": [image.engine, image.base]}, image.data
            if Capability.VALUES in capabilities:
                return {"values": dict(realm.values())}, b""
        except EngineFailure as error:
            return {"lost": str(error)}, b""
        return {"lost": f"engine {self._engine.name!r} can neither store nor export them"}, b""

    def _forget(self, number: int) -> None:
        self._executions.pop(number, None)
        realm = self._realms.pop(number, None)
        if realm is not None:
            realm.close()


def _image(message: Sequence[str] | None, attached: bytes) -> Image | None:
    return None if message is None else Image(message[0], message[1], attached)


def _described(error: Exception) -> list[str]:
    for kind in (ConfigurationError, EngineFailure, ImageError, NotImplementedError):
        if isinstance(error, kind):
            return [kind.__name__, str(error)[:_MESSAGE_CHARS]]
    return ["EngineFailure", f"{type(error).__name__}: {error}"[:_MESSAGE_CHARS]]
