"""Realms that an engine keeps while their cell waits."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from interpstack import BridgeSet, ConfigurationError, ImageError
from interpstack_javascript.kept_realms.keepable_realm import KeepableRealm
from interpstack_javascript.kept_realms.kept_realms import KeptRealms


@attrs.define(eq=False)
class Run:
    """A run that waits, or not."""

    waits: bool = True
    calls: list[str] = attrs.field(factory=list)

    @property
    def is_kept(self) -> bool:
        return self.calls[-1:] == ["keep"]

    def keep(self) -> None:
        self.calls.append("keep")

    def go_on(self) -> None:
        self.calls.append("go on")


class Realm(KeepableRealm):
    """Notes what is done with it.

    Attributes:
        done: What was done, in order.
        spoils: Whether the guest is lost while bridges are bound.
    """

    def __init__(self) -> None:
        super().__init__(KeptRealms("some", 2))
        self.done: list[str] = []
        self.spoils = False
        self.run: Any = None

    def runs(self, run: Any) -> Any:
        self._execution = self.run = run
        return run

    def spoil(self) -> None:
        self.run.waits = False

    def bind(self, bridges: BridgeSet) -> None:
        self.done.append("bind")
        if self.spoils:
            self.spoil()

    def start(self, cell: Any) -> Any:
        raise NotImplementedError

    def _lend(self, *, kept: bool) -> None:
        self.done.append(f"lend {kept}")

    def discard(self) -> None:
        self.done.append("discard")


@pytest.fixture
def realm() -> Realm:
    return Realm()


def test_a_kept_realm_is_closed_by_nobody_and_goes_on(realm: Realm) -> None:
    run = realm.runs(Run())
    image = realm.image()
    realm.close()
    assert realm.done == ["lend True"]
    assert realm._kept.take(image) is realm
    realm.go_on(BridgeSet())
    assert realm.resume() is run
    assert run.calls == ["keep", "go on"]
    realm.close()
    assert realm.done == ["lend True", "lend False", "bind", "discard"]


@pytest.mark.parametrize("spoils", [True, False], ids=["by bridges", "before"])
def test_a_cell_that_was_lost_is_not_continued(realm: Realm, spoils: bool) -> None:
    run = realm.runs(Run())
    realm.image()
    run.waits, realm.spoils = spoils, spoils
    with pytest.raises(ImageError, match="was released; run it again"):
        realm.go_on(BridgeSet())
    assert realm.done[-1] == "discard"
    assert run.calls == ["keep"]


@pytest.mark.parametrize("run", [None, Run(waits=False)], ids=["none", "ended"])
def test_a_realm_without_a_cell_that_waits_is_not_kept(realm: Realm, run: Any) -> None:
    realm.runs(run)
    with pytest.raises(ImageError, match="only of cells that wait"):
        realm.image()
    with pytest.raises(ConfigurationError, match="no cell waits"):
        realm.resume()
    realm.close()
    assert realm.done == ["discard"]
