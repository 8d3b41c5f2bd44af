"""Tests of interpstack_ray.realm: the key of a session reaches the pool that places its realm."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_ray.pool import ActorPool


def test_a_realm_is_placed_by_the_key_of_its_session(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed, place = [], ActorPool.place

    def noted(self: ActorPool, realm: int, key: str) -> Any:
        placed.append(key)
        return place(self, realm, key)

    monkeypatch.setattr(ActorPool, "place", noted)
    stack = make()
    for key in ("one", "two", "one"):
        assert stack.session(key).eval_sync("1").error is None
    assert placed == ["one", "two"]
