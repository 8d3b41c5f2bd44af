"""Records that persistence modes make are folded into those that the newest one needs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from interpstack_agents.records import are_records, joined, token_of


def record(sequence: int, previous: str = "") -> dict[str, Any]:
    return {"sequence": sequence, "previous": previous, "id": f"r{sequence}"}


WHOLE, SECOND, THIRD = record(1), record(2, "r1"), record(3, "r2")


@pytest.mark.parametrize("order", list(itertools.permutations([WHOLE, SECOND, THIRD])))
def test_writes_may_come_in_any_order_and_in_any_portions(order: Any) -> None:
    assert joined([], [[one] for one in order]) == [WHOLE, SECOND, THIRD]
    assert joined(joined([], [[order[0]]]), [list(order[1:])]) == [WHOLE, SECOND, THIRD]


def test_a_whole_record_ends_what_is_needed() -> None:
    fresh = record(4)
    assert joined([WHOLE, SECOND], [[fresh], []]) == [fresh]


def test_of_two_with_one_number_the_whole_one_counts_else_the_later() -> None:
    other = {**SECOND, "id": "other"}
    assert joined([WHOLE, SECOND], [[other]]) == [WHOLE, other]
    alone = {**record(2), "id": "alone"}
    assert joined([WHOLE, alone], [[other]]) == [alone]


def test_what_is_no_list_of_records_stays_for_loading_to_refuse() -> None:
    assert joined("damaged", [[WHOLE]]) == "damaged"
    assert joined([WHOLE], ["damaged"]) == "damaged"
    assert (are_records([{"sequence": True}]), are_records([WHOLE])) == (False, True)


def test_tokens() -> None:
    assert [token_of(one) for one in ([], [WHOLE, SECOND], "damaged", [5])] == [
        "",
        "r2",
        "damaged",
        "damaged",
    ]
