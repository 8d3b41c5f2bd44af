"""Slots for agents: fair over runs and over the parts of a run, within caps and rates."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Final

import attrs

from interpstack import ConfigurationError

__all__ = ["Rate", "Scheduler"]

#: Agents at once in one process, unless the host says otherwise.
_AGENTS: Final = 16


def _above_zero(value: Any, *, whole: bool) -> bool:
    kinds = (int,) if whole else (int, float)
    return type(value) in kinds and 0 < value < math.inf


def _name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


@attrs.frozen(kw_only=True)
class Rate:
    """A limit on the calls that begin within some time.

    Attributes:
        seconds: The length of that time.
        calls: Calls that may begin within it; `None` for no limit.
        tokens: Tokens, as estimated by the calls, that may be requested within it; `None` for no
            limit.
        provider: The provider that the limit is for; `None` for all.
        model: The model that the limit is for; `None` for all.

    Raises:
        ConfigurationError: A number is not above 0, a name is not text, or neither `calls` nor
            `tokens` is set.
    """

    seconds: float
    calls: int | None = None
    tokens: int | None = None
    provider: str | None = None
    model: str | None = None

    def __attrs_post_init__(self) -> None:
        counts = [one for one in (self.calls, self.tokens) if one is not None]
        fits = all(_above_zero(one, whole=True) for one in counts)
        if not counts or not fits or not _above_zero(self.seconds, whole=False):
            raise ConfigurationError(
                "Rate takes seconds above 0, and calls or tokens as whole numbers above 0; "
                f"got {self!r:.120}"
            )
        for name in (self.provider, self.model):
            if name is not None and not _name(name):
                raise ConfigurationError(
                    f"Rate takes names as provider and model, or None; got {name!r:.40}"
                )

    def is_for(self, job: _SlotJob) -> bool:
        """Return whether the limit is for a job."""
        return self.provider in (None, job.provider) and self.model in (None, job.model)


@attrs.define(eq=False)
class _SlotJob:
    """One call that waits for its slot, or has it."""

    run_id: str
    scope: tuple[str, ...]
    provider: str | None
    model: str | None
    priority: int
    tokens: int
    #: The names under which the job is counted.
    caps: tuple[tuple[str, str], ...] = attrs.field(init=False)
    #: Whether the job has its slot.
    begun: bool = attrs.field(init=False, default=False)
    #: Done when a job that has to wait may begin; `None` for one that need not.
    ready: asyncio.Future[None] | None = attrs.field(init=False, default=None)

    @caps.default
    def _named(self) -> tuple[tuple[str, str], ...]:
        named = (("run", self.run_id), ("provider", self.provider), ("model", self.model))
        return tuple((kind, name) for kind, name in named if name is not None)

    @property
    def waits(self) -> bool:
        """Whether the caller waits for the slot."""
        return self.ready is not None and not self.ready.done()

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is done when the job has its slot."""
        self.ready = asyncio.get_running_loop().create_future()
        return self.ready

    def begin(self) -> None:
        """The job has its slot now."""
        self.begun = True
        if self.ready is not None:
            self.ready.set_result(None)


class _Window:
    """The calls that began lately, for one rate."""

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._begun: deque[tuple[float, int]] = deque()
        self._tokens = 0

    def wait(self, job: _SlotJob, now: float) -> float:
        """Seconds until the job may begin; 0 for now."""
        self._forget(now)
        calls, tokens = self.rate.calls, self.rate.tokens
        full = calls is not None and len(self._begun) >= calls
        # A job larger than the whole window begins in an empty one.
        heavy = tokens is not None and self._begun and self._tokens + job.tokens > tokens
        if not full and not heavy:
            return 0.0
        return max(self._begun[0][0] + self.rate.seconds - now, 1e-3)

    def begin(self, job: _SlotJob, now: float) -> None:
        """Count a job."""
        self._begun.append((now, job.tokens))
        self._tokens += job.tokens

    def _forget(self, now: float) -> None:
        while self._begun and self._begun[0][0] <= now - self.rate.seconds:
            self._tokens -= self._begun.popleft()[1]


class _Queue:
    """Jobs of one part of a run, the highest priority first, then the oldest."""

    def __init__(self) -> None:
        self._jobs: dict[int, deque[_SlotJob]] = {}

    def add(self, job: _SlotJob, path: tuple[str, ...]) -> None:
        """Queue a job."""
        self._jobs.setdefault(-job.priority, deque()).append(job)

    def take(self, may_begin: Callable[[_SlotJob], bool]) -> _SlotJob | None:
        """Remove and return the next job that may begin; `None` if none may."""
        for priority in sorted(self._jobs):
            # Callers that were cancelled are removed.
            queue = deque(job for job in self._jobs.pop(priority) if job.waits)
            found = next((job for job in queue if may_begin(job)), None)
            if found is not None:
                queue.remove(found)
            if queue:
                self._jobs[priority] = queue
            if found is not None:
                return found
        return None

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._jobs


class _Branch:
    """Parts of a run that take turns: its own jobs, and those of its children."""

    def __init__(self) -> None:
        self._parts: OrderedDict[str | None, _Queue | _Branch] = OrderedDict()

    def add(self, job: _SlotJob, path: tuple[str, ...]) -> None:
        """Queue a job below a path."""
        name = path[0] if path else None
        if name not in self._parts:
            self._parts[name] = _Branch() if path else _Queue()
        self._parts[name].add(job, path[1:])

    def take(self, may_begin: Callable[[_SlotJob], bool]) -> _SlotJob | None:
        """Remove and return the next job that may begin; `None` if none may."""
        for name in list(self._parts):
            part = self._parts[name]
            job = part.take(may_begin)
            if part.is_empty:
                del self._parts[name]
            elif job is not None:
                self._parts.move_to_end(name)
            if job is not None:
                return job
        return None

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._parts


class Scheduler:
    """Gives slots to calls of agents, for all runs of a process on one event loop.

    Runs take turns, and so do the children of a run; among equals, the higher priority goes first,
    then the older call. A call that has to wait for its model, provider, run or rate lets others
    pass.

    Args:
        max_agents: Agents that may work at once.
        per_run: Agents of one run that work at once; `None` for no limit of its own.
        per_provider: Agents that work at once, by provider.
        per_model: Agents that work at once, by model.
        rates: Limits on the calls that begin within some time.
        clock: Returns the seconds of a clock that never goes back.

    Raises:
        ConfigurationError: A limit is not a whole number above 0, a name is not text, or a rate is
            no `Rate`.
    """

    def __init__(
        self,
        max_agents: int = _AGENTS,
        *,
        per_run: int | None = None,
        per_provider: Mapping[str, int] | None = None,
        per_model: Mapping[str, int] | None = None,
        rates: Iterable[Rate] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        given_caps = {"provider": per_provider, "model": per_model}
        for kind, caps in given_caps.items():
            named = isinstance(caps, Mapping) and all(map(_name, caps))
            if not (named or caps is None):
                raise ConfigurationError(
                    f"Scheduler takes limits by the names of {kind}s as per_{kind}; "
                    f"got {caps!r:.80}"
                )
        if isinstance(rates, (Rate, str)) or not isinstance(rates, Iterable):
            raise ConfigurationError(f"Scheduler takes a list of Rates; got {rates!r:.80}")
        rates = tuple(rates)
        for rate in rates:
            if not isinstance(rate, Rate):
                raise ConfigurationError(f"Scheduler takes a list of Rates; got {rate!r:.40} in it")
        self._caps = {kind: dict(caps or {}) for kind, caps in given_caps.items()}
        self._per_run = per_run
        given = [max_agents, *(value for caps in self._caps.values() for value in caps.values())]
        for value in [*given, *([] if per_run is None else [per_run])]:
            if not _above_zero(value, whole=True):
                raise ConfigurationError(
                    f"Scheduler takes whole numbers above 0 as limits; got {value!r:.40}"
                )
        self._max = max_agents
        self._clock = clock
        self._windows = [_Window(rate) for rate in rates]
        self._waiting = _Branch()
        self._count = 0
        self._working: Counter[tuple[str, str]] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def working(self) -> int:
        """Agents that work now."""
        return self._count

    def slot(
        self,
        run_id: str,
        *,
        scope: tuple[str, ...] = (),
        provider: str | None = None,
        model: str | None = None,
        priority: int = 0,
        tokens: int = 0,
    ) -> AbstractAsyncContextManager[None]:
        """Wait for a slot, and occupy it inside the block.

        Args:
            run_id: The run.
            scope: The children of the run that the call is in, the outermost first.
            provider: The provider of the agent's model.
            model: The model.
            priority: Calls with a higher number start first among those of one part of a run.
            tokens: Tokens that the call is expected to use, for rates.
        """
        job = _SlotJob(run_id, scope, provider, model, priority, tokens)
        return _JobSlot(job, self._enter_now, self._enter, self._leave)

    def _enter_now(self, job: _SlotJob) -> bool:
        """Give a job its slot, if it need not wait; whether it has one."""
        if self._waiting.is_empty and self._count < self._max and self._may_begin(job, []):
            self._begin(job)
        return job.begun

    async def _enter(self, job: _SlotJob) -> None:
        """Wait for the slot of a job."""
        ready = job.wait()
        self._waiting.add(job, (job.run_id, *job.scope))
        self._give()
        try:
            await ready
        except BaseException:
            self._leave(job)
            raise

    def _leave(self, job: _SlotJob) -> None:
        """Take the slot of a job back, or its place among those that wait."""
        # Cancelled just as the slot was given: the slot goes back all the same.
        if job.begun:
            self._end(job)
        elif job.ready is not None:
            job.ready.cancel()
        if not self._waiting.is_empty:
            self._give()

    def _give(self) -> None:
        while self._count < self._max and not self._waiting.is_empty:
            waits: list[float] = []
            job = self._waiting.take(lambda one, waits=waits: self._may_begin(one, waits))  # type: ignore[misc]
            if job is None:
                self._retry_later(min(waits, default=None))
                return
            self._begin(job)

    def _may_begin(self, job: _SlotJob, waits: list[float]) -> bool:
        for kind, name in job.caps:
            cap = self._per_run if kind == "run" else self._caps[kind].get(name)
            if cap is not None and self._working[kind, name] >= cap:
                return False
        now = self._clock()
        wait = max(
            (each.wait(job, now) for each in self._windows if each.rate.is_for(job)), default=0.0
        )
        if wait:
            waits.append(wait)
        return not wait

    def _begin(self, job: _SlotJob) -> None:
        now = self._clock()
        for window in self._windows:
            if window.rate.is_for(job):
                window.begin(job, now)
        self._count += 1
        for name in job.caps:
            self._working[name] += 1
        job.begin()

    def _end(self, job: _SlotJob) -> None:
        self._count -= 1
        for name in job.caps:
            self._working[name] -= 1
            if not self._working[name]:
                del self._working[name]

    def _retry_later(self, seconds: float | None) -> None:
        """Give slots again once a rate allows more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._give)


class _JobSlot(AbstractAsyncContextManager[None]):
    """The slot of one job, inside a block.

    No generator, as a decorated function would make: there is a slot for each step of a run.

    Args:
        job: The job.
        enter_now: Gives the job its slot if it need not wait; returns whether it has one.
        enter: Waits for the slot.
        leave: Takes the slot back.
    """

    def __init__(
        self,
        job: _SlotJob,
        enter_now: Callable[[_SlotJob], bool],
        enter: Callable[[_SlotJob], Awaitable[None]],
        leave: Callable[[_SlotJob], None],
    ) -> None:
        self._job = job
        self._enter_now = enter_now
        self._enter = enter
        self._leave = leave

    async def __aenter__(self) -> None:
        if not self._enter_now(self._job):
            await self._enter(self._job)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave(self._job)
