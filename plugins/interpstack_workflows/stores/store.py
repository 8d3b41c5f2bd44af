"""The contract of stores: what a run keeps, so that another process can go on with it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

from interpstack import ConfigurationError
from interpstack_core.checks import takes
from interpstack_workflows.errors import WorkflowError
from interpstack_workflows.steps.entries import Entry

__all__ = [
    "RUN_ID_TAKES",
    "Lease",
    "Message",
    "MessageKind",
    "RunRecord",
    "RunStatus",
    "TakenRun",
    "WorkflowStore",
    "is_run_id",
]

RunStatus: TypeAlias = Literal["pending", "running", "waiting", "completed", "failed", "cancelled"]
MessageKind: TypeAlias = Literal["signal", "answer", "cancel", "wake"]
_STATUSES: Final = get_args(RunStatus)
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
class RunRecord:
    """A run as it is stored beside its entries; all values are plain JSON.

    Attributes:
        id: The id of the run: at most 200 letters, digits, `-`, `_` and `.`.
        name: The name of the workflow.
        source: The script.
        source_name: The script's name in stack traces.
        args: The arguments of the run.
        metadata: The metadata of the script.
        seed: Seed of the script's random numbers.
        created: When the run was made, in seconds since 1970.
        status: What the run does.
        budget: The limits of the run.
        options: Further options of the run.
        result: The result of a completed run.
        error: The failure of a failed run.
        wake_at: When a waiting run is to be woken, in seconds since 1970; `None` if only a message
            wakes it.
        waiting_for: The steps that a waiting run waits for.
        usage: The resources used so far.
        census: The counts of steps that succeeded and failed.
        updated: When the record was changed last, in seconds since 1970.
        version: The number of changes of the record.
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
        validator=_takes(f"a status of {', '.join(_STATUSES)}", fits=_STATUSES.__contains__),
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
        until: When the right ends unless it is renewed, in seconds since 1970.
        seconds: How long it lasts after it was renewed; 0 if the store does not tell.
    """

    run_id: str
    owner: str
    token: int
    until: float
    seconds: float = 0.0

    def check_run(self, run_id: str) -> None:
        """Make sure that the lease is of this run.

        Raises:
            WorkflowError: It is of another one.
        """
        if self.run_id != run_id:
            raise WorkflowError(
                f"the lease is of the run {self.run_id!r:.200}, not of {run_id!r:.200}; claim that"
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
    """A run with everything that its runner needs to go on with it.

    Attributes:
        record: The record of the run; `None` if there is no such run.
        lease: The right to work on the run; `None` while another runner has it.
        entries: The entries of the run; none without a lease.
        messages: The messages to the run, with their numbers; none without a lease.
        held: The lease of the other runner, if the store tells. It may have ended.
    """

    record: RunRecord | None
    lease: Lease | None = None
    held: Lease | None = None
    entries: Sequence[Entry] = ()
    messages: Sequence[tuple[int, Message]] = ()


class WorkflowStore(abc.ABC):
    """Keeps runs, their entries, messages to them, and leases.

    What a method has written is safe when it returns. All values are plain JSON. Methods may be
    called from several processes and event loops at once.
    """

    @abc.abstractmethod
    async def create(self, run: RunRecord) -> None:
        """Store a new run.

        Raises:
            WorkflowError: There is a run of this id.
        """

    @abc.abstractmethod
    async def read(self, run_id: str) -> RunRecord | None:
        """The stored record of a run; `None` if there is no such run."""

    @abc.abstractmethod
    async def update(self, run: RunRecord, lease: Lease) -> None:
        """Replace the record of a run.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is of another run.
        """

    @abc.abstractmethod
    async def runs(self, status: RunStatus | None = None, limit: int = 100) -> Sequence[RunRecord]:
        """Stored runs, the newest first.

        Args:
            status: Only runs that do this; `None` for all.
            limit: How many at most.
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
            index: Place of the first entry: the number of those that are stored.
            entries: The entries, which are stored together or not at all.
            lease: The right of the runner.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is of another run.
        """

    def append_now(self, run_id: str, index: int, entries: Sequence[Entry], lease: Lease) -> bool:
        """Store entries before this returns, if that takes next to no time.

        By default, this stores nothing. A store that overrides it spares the steps of its runs a
        task each. It is called on the event loop, so it waits for nobody.

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
        """Prolong a lease from now on; whether it was still valid."""

    @abc.abstractmethod
    async def release(self, lease: Lease) -> None:
        """Give a lease back; nothing happens if it is not valid any more."""

    async def take(
        self,
        run_id: str,
        owner: str,
        seconds: float,
        begin: Callable[[RunRecord], RunRecord],
        lapsed: Lease | None = None,
    ) -> TakenRun:
        """Claim a run, change its record, and read everything of it.

        By default, this calls `claim`, `read`, `entries`, `messages` and `update`. A store that
        does all of it at once overrides it: runs that are due together begin so much sooner.

        A store whose runners have clocks of their own does not claim a run from a lease that has
        ended, and that was not given back, unless it is `lapsed`: it returns that lease as `held`,
        which the runner watches for a while before it asks again.

        Args:
            run_id: The id of the run.
            owner: A name for the runner.
            seconds: How long the lease lasts.
            begin: Returns the record of the run as it is to be from now on; the same object if
                nothing changes. May be called in another thread.
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

    async def leave(self, run: RunRecord, lease: Lease) -> None:
        """Replace the record of a run, and give its lease back.

        By default, this calls `update` and `release`.

        Raises:
            LeaseLost: Another runner has claimed the run since.
            WorkflowError: The lease is of another run.
        """
        await self.update(run, lease)
        await self.release(lease)

    @abc.abstractmethod
    async def delete(self, run_id: str) -> None:
        """Remove a run and everything of it; nothing happens if there is none."""

    async def aclose(self) -> None:  # noqa: B027 - optional
        """Free the store's own resources; does nothing by default."""
