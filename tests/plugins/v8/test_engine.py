"""Tests of interpstack_v8.engine: options, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")

from interpstack import BridgeSet, Capability, ConfigurationError, Image, ImageError, Limits
from interpstack_v8 import engine as module
from interpstack_v8.engine import V8Engine


@pytest.mark.parametrize("seconds", [0, -1, "2", True, False, float("nan"), [1]])
def test_the_time_to_give_up_is_a_number_above_nought_or_none(seconds: Any) -> None:
    with pytest.raises(ConfigurationError) as refused:
        V8Engine(give_up_seconds=seconds)
    assert str(refused.value) == (
        f"v8: give_up_seconds takes a number above 0, or None; got {seconds!r}"
    )


@pytest.mark.parametrize("seconds", [None, 1, 0.001])
def test_the_time_to_give_up_reaches_each_realm(
    monkeypatch: pytest.MonkeyPatch, seconds: float | None
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(module, "V8Realm", lambda *given: made.append(given))
    V8Engine(give_up_seconds=seconds).open(Limits(), BridgeSet())
    assert [given[-1] for given in made] == [seconds]


def test_there_are_no_images() -> None:
    assert not {Capability.IMAGES, Capability.SUSPENSION} & V8Engine.capabilities
    with pytest.raises(ImageError, match="has no images; load the state's portable values"):
        V8Engine().open(Limits(), BridgeSet(), Image("v8", "", b""))


def test_workers_wait_for_their_guest_to_end() -> None:
    """They are ended with their process, so nothing computes on."""
    V8Engine(**V8Engine.worker_options)
    assert V8Engine.worker_options == {"give_up_seconds": None}


def test_abandoned_threads_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "abandoned", lambda: 3)
    assert V8Engine().abandoned == 3
