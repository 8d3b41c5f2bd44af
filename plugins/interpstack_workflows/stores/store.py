"""The contract of stores: what a run keeps, so that another process can go on with it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

from interpstack import ConfigurationError
from interpstack.checks import takes
from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.steps.entries import Entry

__all__ = [
    "RUN_ID_TAKES",
    "STATUSES",
    "Lease",
    "Message",
    "MessageKind",
    "RunStatus",
    "TakenRun",
    "WorkflowRecord",
    "WorkflowStore",
    "is_run_id",
]

RunStatus: TypeAlias = Literal["pending", "running", "waiting", "completed", "failed", "cancelled"]
MessageKind: TypeAlias = Literal["signal", "answer", "cancel", "wake"]
STATUSES: Final = get_args(RunStatus)
_KINDS: Final = get_args(MessageKind)
#: Describes the id of a run, for messages.
RUN_ID_TAKES: Final = "1 to 200 letters, digits, '-', '_' and '.'"
_takes = partial(takes, of=lambda item: type(item).__name__, error=ConfigurationError)


def is_run_id(value: object) -> bool:
    """Whether a run may have this id."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= 200
        and value.isascii()
        and value.replace("-", "").replace("_", "").replace(".", "").isalnum()
    )


@attrs.frozen(kw_only=True)
class WorkflowRecord:
    """A run as it is stored beside its entries; all values are plain JSON.

    Attributes:
        id: The id of the run: at most 200 letters, digits, `-`, `_` and `.`.
        name: The name of the workflow.
        source: The script.
        source_name: The script's name in stack traces.
        args: The arguments of the run.
        metadata: The metadata of the script.
        seed: Seed of the script's random numbers.
        created: The time at which the run was made, in seconds since 1970.
        status: The state of the run.
        budget: The limits of the run.
        options: Further options of the run.
        result: The result of a completed run.
        error: The failure of a failed run.
        wake_at: The time at which a waiting run is to be woken, in seconds since 1970; `None` if
            only a message wakes it.
        waiting_for: The steps that a waiting run waits for.
        usage: The resources used so far.
        census: The counts of steps that succeeded and failed.
        updated: The time of the last change of the record, in seconds since 1970.
        version: Number of changes of the record.
    """

    id: str = attrs.field(validator=_takes(f"{RUN_ID_TAKES} as an id", fits=is_run_id))
    name: str = ""
    source: str = attrs.field(default="", repr=False)
    source_name: str = "workflow.js"
    args: Any = None
    metadata: Mapping[str, Any] = attrs.field(factory=dict)
    seed: int = 0
    created: float = 0.0
    status: RunStatus = attrs.field(
        default="pending",
        validator=_takes(f"a status of {', '.join(STATUSES)}", fits=STATUSES.__contains__),
    )
    budget: Mapping[str, Any] = attrs.field(factory=dict)
    options: Mapping[str, Any] = attrs.field(factory=dict)
    result: Any = None
    error: Mapping[str, Any] | None = None
    wake_at: float | None = None
    waiting_for: tuple[Mapping[str, Any], ...] = attrs.field(default=(), converter=tuple)
    usage: Mapping[str, Any] = attrs.field(factory=dict)
    census: Mapping[str, Any] = attrs.field(factory=dict)
    updated: float = 0.0
    version: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen in this run by itself."""
        return self.status in ("completed", "failed", "cancelled")


@attrs.frozen
class Lease:
    """The right to work on a run, for a time.

    Attributes:
        run_id: The id of the run.
        owner: A name for the runner.
        token: A number that grows with each claim: writes with an older one are refused.
        until: The time at which the right ends unless it is renewed, in seconds since 1970.
        seconds: Seconds for which it lasts after a renewal; 0 if the store does not say.
    """

    run_id: str
    owner: str
    token: int
    until: float
    seconds: float = 0.0

    def check_run(self, run_id: str) -> None:
        """Check that the lease is for a run.

        Raises:
            WorkflowError: The lease is for another run.
        """
        if self.run_id != run_id:
            raise WorkflowError(
                f"the lease is for the run {self.run_id!r:.200}, not for {run_id!r:.200}; claim "
                "the run itself"
            )


@attrs.frozen(kw_only=True)
class Message:
    """A message to a run from outside.

    Attributes:
        kind: `signal` for the script, `answer` to a question, `cancel`, or `wake`.
        name: The name of the signal.
        value: The value that comes with it; plain JSON.
        id: The id of the question that is answered.
    """

    kind: MessageKind = attrs.field(
        validator=_takes(f"a kind of {', '.join(_KINDS)}", fits=_KINDS.__contains__)
    )
    name: str = ""
    value: Any = None
    id: str = ""


@attrs.frozen(kw_only=True)
class TakenRun:
    """A run with everything that its runner needs to continue it.

    Attributes:
        record: The record of the run; `None` if there is no such run.
        lease: The right to work on the run; `None` while another runner has it.
        entries: The entries of the run; none without a lease.
        messages: The messages to the run, with their numbers; none without a lease.
        held: The lease of the other runner, if the store returns it. It may have ended.
    """

    record: WorkflowRecord | None
    lease: Lease | None = None
    held: Lease | None = None
    entries: Sequence[Entry] = ()
    messages: Sequence[tuple[int, Message]] = ()


class WorkflowStore(abc.ABC):
    """Keeps runs, their entries, messages to them, and leases.

    When a method returns, its writes are safe. All values are plain JSON. Methods may be called
    from several processes and event loops at once.
    """

    @abc.abstractmethod
    async def create(self, run: WorkflowRecord) -> None:
        """Store a new run.

        Raises:
            WorkflowError: A run with this id exists.
        """

    @abc.abstractmethod
    async def read(self, run_id: str) -> WorkflowRecord | None:
        """The stored record of a run; `None` if there is no such run."""

    @abc.abstractmethod
    async def update(self, run: WorkflowRecord, lease: Lease) -> None:
        """Replace the record of a run.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is for another run.
        """

    @abc.abstractmethod
    async def runs(
        self, status: RunStatus | None = None, limit: int = 100
    ) -> Sequence[WorkflowRecord]:
        """Stored runs, the newest first.

        Args:
            status: Only runs in this state; `None` for all.
            limit: The largest number of runs.
        """

    @abc.abstractmethod
    async def entries(self, run_id: str) -> Sequence[Entry]:
        """The entries of a run, in order, from the first up to the last without a gap.

        Raises:
            WorkflowError: They are damaged.
        """

    @abc.abstractmethod
    async def append(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> None:
        """Store entries.

        Args:
            run_id: The id of the run.
            index: Position of the first entry: the number of entries that are stored already.
            entries: The entries, which are stored together or not at all.
            lease: The right of the runner.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is for another run.
        """

    def append_now(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> bool:
        """Store entries at once, if that takes next to no time.

        By default, this stores nothing. A store that overrides it saves a task for each step. It is
        called on the event loop, so it must not wait.

        Args:
            run_id: See `append`.
            index: See `append`.
            entries: See `append`.
            lease: See `append`.

        Returns:
            Whether the entries are stored; if not, `append` is called with them.
        """
        return False

    @abc.abstractmethod
    async def send(self, run_id: str, message: Message) -> None:
        """Store a message to a run.

        Raises:
            UnknownRun: There is no such run.
        """

    @abc.abstractmethod
    async def messages(self, run_id: str, after: int) -> Sequence[tuple[int, Message]]:
        """Messages to a run with their numbers, which count from 1, in the order of sending.

        Args:
            run_id: The id of the run.
            after: Only messages with a higher number.
        """

    @abc.abstractmethod
    async def claim(self, run_id: str, owner: str, seconds: float) -> Lease | None:
        """Get the right to work on a run.

        Returns:
            The lease; `None` while another runner has one.

        Raises:
            UnknownRun: There is no such run.
        """

    @abc.abstractmethod
    async def renew(self, lease: Lease, seconds: float) -> bool:
        """Extend a lease from now on; returns whether it was still valid."""

    @abc.abstractmethod
    async def release(self, lease: Lease) -> None:
        """Give a lease back; nothing happens if it is not valid any more."""

    async def take(
        self,
        run_id: str,
        owner: str,
        seconds: float,
        begin: Callable[[WorkflowRecord], WorkflowRecord],
        lapsed: Lease | None = None,
    ) -> TakenRun:
        """Claim a run, change its record, and read everything of it.

        By default, this calls `claim`, `read`, `entries`, `messages` and `update`. A store that can
        do all of this at once overrides it, so that runs that are due together begin sooner.

        If the runners of a store have clocks of their own, a lease that has ended but was not given
        back is not enough to claim its run: the store returns that lease as `held`. The runner
        watches it for a while, and then passes it as `lapsed`.

        Args:
            run_id: The id of the run.
            owner: A name for the runner.
            seconds: Seconds for which the lease lasts.
            begin: Takes the record of the run and returns the new one; the same object if nothing
                changes. May be called in another thread.
            lapsed: The lease of a runner that shows no sign of life.

        Raises:
            UnknownRun: There is no such run.
            WorkflowError: The entries are damaged; the run is not claimed then.
        """
        lease = await self.claim(run_id, owner, seconds)
        record = await self.read(run_id)
        if lease is None:
            return TakenRun(record=record)
        try:
            entries, messages = await self.entries(run_id), await self.messages(run_id, 0)
            begun = record if record is None else begin(record)
            if begun is not None and begun is not record:
                await self.update(begun, lease)
        except BaseException:
            await self.release(lease)
            raise
        return TakenRun(record=begun, lease=lease, entries=entries, messages=messages)

    async def leave(self, run: WorkflowRecord, lease: Lease) -> None:
        """Replace the record of a run, and give the lease back.

        By default, this calls `update` and `release`.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is for another run.
        """
        await self.update(run, lease)
        await self.release(lease)

    @abc.abstractmethod
    async def delete(self, run_id: str) -> None:
        """Remove a run with its entries and messages; nothing happens if there is no such run."""

    async def aclose(self) -> None:  # noqa: B027 - optional
        """Free the store's own resources; does nothing by default."""
