"""The stored form of amounts drawn on an account between two steps of a cell.

Such records are stored beside the entries of a journal, in no fixed order: a call that a pause left
running continues to write them. Each record names the run that wrote it and has a number in that
run. The last record of a run holds all amounts drawn by then; the counted names are those of all
records together.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

__all__ = ["SpendingRun", "Spent", "read_spent"]


@attrs.frozen(kw_only=True)
class Spent:
    """Amounts drawn on an account between two steps of a cell, as a record.

    Attributes:
        drawn: By kind; for each model's call under way, as much as the dearest one took.
        known: Names of the requests and calls that were counted; see `once` of `Account.reserve`.
        dearest: Amounts of the most expensive model call, by kind.
    """

    drawn: Mapping[str, float]
    known: tuple[str, ...] = ()
    dearest: Mapping[str, float] = attrs.field(factory=dict)


@attrs.define(eq=False, repr=False)
class SpendingRun:
    """Numbers the records of one run of a cell."""

    run: str = attrs.field(factory=lambda: secrets.token_hex(8))
    number: int = 0

    def record(self, spent: Spent) -> dict[str, Any]:
        """The next record."""
        self.number += 1
        return {
            "run": self.run,
            "number": self.number,
            "drawn": dict(spent.drawn),
            "known": list(spent.known),
            "dearest": dict(spent.dearest),
        }


def read_spent(records: Iterable[Mapping[str, Any]]) -> Spent | None:
    """The sum of the records of all runs; `None` if there are none.

    Records of other plugins, which stand among these, hold no amounts.
    """
    last: dict[str, Mapping[str, Any]] = {}
    known: dict[str, None] = {}
    own = (record for record in records if "drawn" in record)
    for record in sorted(own, key=lambda one: int(one["number"])):
        last[record["run"]] = record
        known.update(dict.fromkeys(record["known"]))
    if not last:
        return None
    return Spent(
        drawn=_most(one["drawn"] for one in last.values()),
        known=tuple(known),
        dearest=_most(one["dearest"] for one in last.values()),
    )


def _most(records: Iterable[Mapping[str, float]]) -> dict[str, float]:
    most: dict[str, float] = {}
    for amounts in records:
        for kind, amount in amounts.items():
            most[kind] = max(most.get(kind, 0), amount)
    return most
