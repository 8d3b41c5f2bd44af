"""Replay the recorded answers of a scope to its module, in the order in which they came."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from interpstack_workflows.steps.entries import Entry, StepRecord
from interpstack_workflows.steps.stages import begun_anew

__all__ = ["RecordedAnswers", "RecordedScopes", "Replayed", "failed_scopes"]


@attrs.frozen
class Replayed:
    """Answers that one entry gave together.

    Attributes:
        now: The guest's clock at the time.
        budget: The budget as the guest saw it.
        answers: Ids of open requests with their records, in recorded order.
    """

    now: float
    budget: Mapping[str, Any]
    answers: Sequence[tuple[str, StepRecord]]


class RecordedAnswers:
    """Steps of one scope that ended in an earlier activation of the run, by their names.

    A later record of a name replaces an earlier one: a failed step that was tried again.

    Args:
        entries: The entries of this scope, in order.
        retry_failed: Whether steps that failed are to run again; they then count as not recorded.
        children: Steps whose children have such steps, so that they run again, too.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        *,
        retry_failed: bool = False,
        children: Collection[str] = (),
    ) -> None:
        self._entries = list(entries)
        self._ended: dict[str, tuple[int, int, StepRecord]] = {}
        self._started: dict[str, StepRecord] = {}
        for index, entry in enumerate(self._entries):
            for place, step in enumerate(entry.settled):
                if step.started:  # after an end: it was tried again
                    self._started[step.name] = step
                    self._ended.pop(step.name, None)
                elif not retry_failed or (step.ok and step.name not in children):
                    self._ended[step.name] = (index, place, step)
                else:
                    self._ended.pop(step.name, None)
                    self._begin_anew(step)
        #: Open requests that have records: entry, place in it, id of the request.
        self._open: list[tuple[int, int, str]] = []
        self._taken: dict[str, StepRecord] = {}

    def _begin_anew(self, failed: StepRecord) -> None:
        """Let a failed step run again; it is known to have ended."""
        begun = self._started.get(failed.name)
        if failed.kind in ("ask", "exec", "wait"):  # a wait gets its whole time again
            self._started.pop(failed.name, None)
        elif failed.kind == "agent" and begun is not None:
            self._started[failed.name] = begun_anew(begun)

    def open(self, request_id: str, name: str) -> bool:
        """Return whether the step of a request just made is recorded; then `take` answers it."""
        found = self._ended.pop(name, None)
        if found is None:
            return False
        index, place, step = found
        heapq.heappush(self._open, (index, place, request_id))
        self._taken[request_id] = step
        return True

    def started(self, name: str) -> StepRecord | None:
        """Return the record of a step that had begun and not ended."""
        return self._started.get(name)

    def take(self) -> Replayed | None:
        """Return the answers of the earliest entry with records of open requests, else `None`."""
        if not self._open:
            return None
        first = self._open[0][0]
        answers = []
        while self._open and self._open[0][0] == first:
            request_id = heapq.heappop(self._open)[2]
            answers.append((request_id, self._taken.pop(request_id)))
        entry = self._entries[first]
        return Replayed(entry.now, entry.budget, answers)

    def unused(self) -> Sequence[StepRecord]:
        """Records that no request has asked for so far, in order."""
        return [step for _, _, step in sorted(self._ended.values(), key=lambda one: one[:2])]

    def undelivered(self) -> Sequence[StepRecord]:
        """Return the records of steps that were not delivered to the module."""
        return [*self._taken.values(), *self.unused()]


def failed_scopes(entries: Iterable[Entry]) -> frozenset[str]:
    """Return the scopes that have steps whose last ends are failures."""
    failed: dict[tuple[str, str], bool] = {}
    for entry in entries:
        for step in entry.settled:
            if not step.started:
                failed[entry.scope, step.name] = not step.ok
    return frozenset(scope for (scope, _), has_failed in failed.items() if has_failed)


class RecordedScopes:
    """The recorded answers of all scopes of a run.

    Args:
        entries: The entries of the run, in order.
        retry_failed: See `RecordedAnswers`.
    """

    def __init__(self, entries: Iterable[Entry], *, retry_failed: bool) -> None:
        self._retry_failed = retry_failed
        self._left: dict[str, list[Entry]] = defaultdict(list)
        recorded = list(entries)
        for entry in recorded:
            self._left[entry.scope].append(entry)
        self._failed = failed_scopes(recorded) if retry_failed else frozenset()
        self._opened: list[RecordedAnswers] = []
        self._answered: set[str] = set()

    def has(self, scope: str) -> bool:
        """Return whether a scope that was not opened has recorded answers."""
        return scope in self._left

    def open(self, scope: str) -> RecordedAnswers:
        """Return the answers of a scope that runs again."""
        recorded = self._left.pop(scope, ())
        within = f"{scope}/"
        inner = [one.removeprefix(within) for one in self._failed if one.startswith(within)]
        answers = RecordedAnswers(
            recorded,
            retry_failed=self._retry_failed,
            children={one.partition("/")[0] for one in inner},
        )
        if recorded:
            self._opened.append(answers)
        return answers

    def answered(self, scope: str) -> None:
        """Note that the end of a child is recorded, so that its scope is not opened."""
        self._answered.add(scope)

    def undelivered(self, *, early: bool) -> Iterator[StepRecord]:
        """Yield steps that ended and were not delivered to a script in this activation.

        Args:
            early: Whether the run ends before its scripts have repeated all their requests.
                Otherwise, only children whose own ends are recorded have such steps, at any depth.
        """
        for answers in self._opened if early else ():
            yield from answers.undelivered()
        for scope, recorded in self._left.items():
            names = scope.split("/")
            outer = ("/".join(names[:depth]) for depth in range(1, len(names) + 1))
            if early or any(one in self._answered for one in outer):
                yield from RecordedAnswers(recorded).undelivered()
