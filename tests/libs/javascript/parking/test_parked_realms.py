"""Realms that an engine keeps while their cells wait."""

from __future__ import annotations

import os

import attrs
import pytest

from interpstack import Image, ImageError
from interpstack_javascript.parking.parked_realms import ParkedRealms


@attrs.define(eq=False)
class Realm:
    """Counts how often it was discarded."""

    discarded: int = 0

    def discard(self) -> None:
        self.discarded += 1


def test_a_realm_is_taken_once() -> None:
    parked, realm = ParkedRealms[Realm]("some", 2), Realm()
    image = parked.park(realm)
    assert (image.engine, len(parked)) == ("some", 1)
    assert parked.take(image) is realm
    with pytest.raises(ImageError, match="no longer kept; run it again"):
        parked.take(image)
    assert realm.discarded == 0


def test_the_realm_parked_longest_ago_makes_room() -> None:
    parked, realms = ParkedRealms[Realm]("some", 2), [Realm() for _ in range(3)]
    images = [parked.park(realm) for realm in realms]
    assert [realm.discarded for realm in realms] == [1, 0, 0]
    with pytest.raises(ImageError):
        parked.take(images[0])
    assert [parked.take(image) for image in images[1:]] == realms[1:]


def test_other_images_are_refused() -> None:
    parked, other = ParkedRealms[Realm]("some", 2), ParkedRealms[Realm]("some", 2)
    with pytest.raises(ImageError, match="no longer kept"):
        parked.take(other.park(Realm()))
    with pytest.raises(ImageError, match="engine 'some' has no images; load the state's portable"):
        parked.take(Image("some", "v1", b"state"))


def test_a_forked_child_leaves_the_realms_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    parked, realm = ParkedRealms[Realm]("some", 2), Realm()
    image, own = parked.park(realm), os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    with pytest.raises(ImageError, match="no longer kept"):
        parked.take(image)
    parked.close()
    assert realm.discarded == 0


def test_closing_discards_all() -> None:
    parked, realm = ParkedRealms[Realm]("some", 2), Realm()
    image = parked.park(realm)
    parked.close()
    assert (realm.discarded, len(parked)) == (1, 0)
    with pytest.raises(ImageError):
        parked.take(image)
