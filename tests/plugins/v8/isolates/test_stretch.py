"""The time that a computation may take on a busy machine."""

from __future__ import annotations

import os

import pytest

from interpstack_v8.isolates.stretch import on_the_clock


@pytest.mark.skipif(not hasattr(os, "getloadavg"), reason="this system has no load average")
@pytest.mark.parametrize(("load", "times"), [(0.5, 1.0), (2.0, 1.0), (6.0, 3.0), (900.0, 8.0)])
def test_it_grows_with_the_load(monkeypatch: pytest.MonkeyPatch, load: float, times: float) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert on_the_clock(2.0) == 2.0 * times


def test_it_is_never_nothing() -> None:
    assert on_the_clock(-1.0) > 0
