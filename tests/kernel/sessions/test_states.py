"""Tests of interpstack.states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from interpstack import BridgeSet, Capability, EngineFailure, Image, Limits, Realm
from interpstack.sessions.states import expanded, notice_of_values, squeezed, take_state
from interpstack_testing import FakeEngine


class _WithImages(FakeEngine):
    capabilities: ClassVar[frozenset[Capability]] = FakeEngine.capabilities | {Capability.IMAGES}


_IMAGE = Image(engine="fake", base="1", data=b"x" * 10_000)


@pytest.fixture
def realm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Realm]:
    realm = FakeEngine().open(Limits(), BridgeSet())
    monkeypatch.setattr(realm, "image", lambda: _IMAGE)
    realm.load({"n": 41})
    yield realm
    realm.close()


def _broken() -> Mapping[str, Any]:
    raise EngineFailure("out of time")


def test_a_state_has_each_form_the_engine_has(realm: Realm) -> None:
    state = take_state(realm, _WithImages())
    assert state.image == _IMAGE
    assert state.values == {"n": 41}
    assert take_state(realm, FakeEngine()).image is None


def test_values_may_be_left_out_beside_an_image_only(realm: Realm) -> None:
    seen = []

    def unwanted(image: Any) -> bool:
        seen.append(image)
        return False

    assert take_state(realm, _WithImages(), unwanted).values is None
    assert seen == [_IMAGE]
    assert take_state(realm, FakeEngine(), unwanted).values == {"n": 41}


def test_values_that_cannot_be_read_are_named_beside_an_image(
    realm: Realm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realm, "values", _broken)
    monkeypatch.setattr(realm, "names", lambda: ["n"])
    state = take_state(realm, _WithImages())
    assert state.image == _IMAGE
    assert state.values is not None
    assert state.values["n"]["$"] == "lost"
    assert notice_of_values(state.values).endswith(
        "Not restored: n (its value was not exported: reading the variables took too much time or "
        "memory)."
    )
    with pytest.raises(EngineFailure, match="out of time"):
        take_state(realm, FakeEngine())


def test_images_are_kept_smaller_and_come_back_whole() -> None:
    kept = squeezed(_IMAGE)
    assert len(kept.data) < len(_IMAGE.data) / 10
    assert expanded(kept) == _IMAGE


def test_small_images_are_kept_as_they_are() -> None:
    small = Image("fake", "base", b"ab" * 1000)
    kept = squeezed(small)
    assert len(kept.data) < len(small.data) + 20
    assert expanded(kept) == small


def test_what_was_not_restored_is_named() -> None:
    assert notice_of_values({"n": 1}).endswith("restored from their values.")
    assert notice_of_values({}) == "", "nothing was restored"
    lost = {"g": {"$": "lost", "v": "type: function"}, "f": {"$": "lost", "v": "?"}, "n": 1}
    many = {f"v{n:02}": {"$": "lost", "v": "it is nested too deep"} for n in range(60)}
    assert notice_of_values(many).endswith("v48, v49 (it is nested too deep); and 10 more.")
    assert (
        notice_of_values({**lost, **many}).partition("restored: ")[2].startswith("f, g; v00, v01")
    )
    assert notice_of_values(lost).endswith("Not restored: f, g.")
    assert notice_of_values(lost, only_losses=True) == notice_of_values(lost)
    assert notice_of_values({"n": 1}, only_losses=True) == ""
