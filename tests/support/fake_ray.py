"""Ray without a cluster: actors are objects in this process, with an event loop in one thread."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

import attrs


@attrs.define(eq=False)
class FakeHandle:
    """The handle of an actor.

    Attributes:
        actor: The object; `None` if it could not be made.
        dead: Why every call fails; empty while it lives.
        broken: Why no call can be made; empty if one can.
        hangs: Names of methods that never answer.
        calls: Names of the methods that were called.
        given: Their arguments.
    """

    ray: FakeRay
    actor: Any
    options: dict[str, Any]
    dead: str = ""
    broken: str = ""
    hangs: set[str] = attrs.field(factory=set)
    calls: list[str] = attrs.field(factory=list)
    given: list[tuple[Any, ...]] = attrs.field(factory=list)
    pending: list[Future[Any]] = attrs.field(factory=list)

    def __getattr__(self, name: str) -> Any:
        return _Method(self, name)

    def die(self, reason: str) -> None:
        self.dead = self.dead or reason
        pending, self.pending = self.pending, []
        for one in pending:
            if not one.done():
                one.set_exception(RuntimeError(self.dead))


@attrs.frozen
class _Method:
    handle: FakeHandle
    name: str

    def remote(self, *given: Any) -> _Ref:
        handle, answer = self.handle, Future[Any]()
        if handle.broken:
            raise RuntimeError(handle.broken)
        handle.calls.append(self.name)
        handle.given.append(given)
        if handle.dead:
            answer.set_exception(RuntimeError(handle.dead))
            return _Ref(answer)
        handle.pending.append(answer)
        if self.name not in handle.hangs:
            running = asyncio.run_coroutine_threadsafe(
                getattr(handle.actor, self.name)(*given), handle.ray.loop
            )
            running.add_done_callback(lambda done: _pass_on(done, answer))
        return _Ref(answer)


@attrs.frozen
class _Ref:
    answer: Future[Any]

    def future(self) -> Future[Any]:
        return self.answer


def _pass_on(done: Future[Any], answer: Future[Any]) -> None:
    if not answer.done() and not done.cancelled():
        error = done.exception()
        if error is None:
            answer.set_result(done.result())
        else:
            answer.set_exception(error)


@attrs.frozen
class _Class:
    ray: FakeRay
    cls: type
    given: dict[str, Any] = attrs.field(factory=dict)

    def options(self, **given: Any) -> _Class:
        return _Class(self.ray, self.cls, given)

    def remote(self, *given: Any) -> FakeHandle:
        if self.ray.refusal is not None:
            raise self.ray.refusal
        handle = FakeHandle(self.ray, None, self.given)
        self.ray.handles.append(handle)
        try:
            handle.actor = self.cls(*given)
        except Exception as error:  # noqa: BLE001 - as a cluster does
            handle.dead = f"The actor died because of an error\n{type(error).__name__}: {error}"
        if self.ray.slow:
            handle.hangs.add("about")
        return handle


class FakeRay:
    """What the pool uses of the module `ray`.

    Attributes:
        handles: Handles of all actors, also of those that have ended.
        slow: Whether new actors never get ready.
        refusal: Raised for new actors, unless it is `None`.
    """

    def __init__(self, cpus: int = 2) -> None:
        self.handles: list[FakeHandle] = []
        self.slow = False
        self.refusal: Exception | None = None
        self._cpus = cpus
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def remote(self, cls: type) -> _Class:
        return _Class(self, cls)

    def kill(self, handle: FakeHandle, *, no_restart: bool) -> None:
        assert no_restart
        handle.die("The actor is dead because it was killed by `ray.kill`.")

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self._cpus)}

    def close(self) -> None:
        async def end() -> None:
            tasks = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()
