"""Isolates that compute for nobody are counted."""

from __future__ import annotations

from interpstack_v8.isolates.abandoned import abandon, abandoned, has_stopped


def test_each_counts_once_until_it_stops() -> None:
    before, one = abandoned(), object()
    abandon(one)
    abandon(one)
    assert abandoned() == before + 1
    has_stopped(one)
    has_stopped(one)
    assert abandoned() == before
