"""Realms that an engine keeps while their cells wait."""

from __future__ import annotations

import os

import attrs
import pytest

from interpstack import Image, ImageError
from interpstack_javascript.kept_realms.kept_realms import KeptRealms


@attrs.define(eq=False)
class Realm:
    """Counts how often it was discarded."""

    discarded: int = 0

    def discard(self) -> None:
        self.discarded += 1


def test_a_realm_is_taken_once() -> None:
    kept, realm = KeptRealms[Realm]("some", 2), Realm()
    image = kept.keep(realm)
    assert (image.engine, len(kept)) == ("some", 1)
    assert kept.take(image) is realm
    with pytest.raises(ImageError, match="no longer kept; run it again"):
        kept.take(image)
    assert realm.discarded == 0


def test_the_realm_kept_longest_ago_makes_room() -> None:
    kept, realms = KeptRealms[Realm]("some", 2), [Realm() for _ in range(3)]
    images = [kept.keep(realm) for realm in realms]
    assert [realm.discarded for realm in realms] == [1, 0, 0]
    with pytest.raises(ImageError):
        kept.take(images[0])
    assert [kept.take(image) for image in images[1:]] == realms[1:]


def test_other_images_are_refused() -> None:
    kept, other = KeptRealms[Realm]("some", 2), KeptRealms[Realm]("some", 2)
    with pytest.raises(ImageError, match="no longer kept"):
        kept.take(other.keep(Realm()))
    with pytest.raises(ImageError, match="engine 'some' has no images; load the state's portable"):
        kept.take(Image("some", "v1", b"state"))


def test_a_forked_child_leaves_the_realms_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, realm = KeptRealms[Realm]("some", 2), Realm()
    image, own = kept.keep(realm), os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    with pytest.raises(ImageError, match="no longer kept"):
        kept.take(image)
    kept.close()
    assert realm.discarded == 0


def test_closing_discards_all() -> None:
    kept, realm = KeptRealms[Realm]("some", 2), Realm()
    image = kept.keep(realm)
    kept.close()
    assert (realm.discarded, len(kept)) == (1, 0)
    with pytest.raises(ImageError):
        kept.take(image)
