"""Tests of interpstack_monty.engine: options, and realms that take no process before a cell."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import BridgeSet, Capability, ConfigurationError, Image, ImageError, Limits
from interpstack_monty.engine import MontyEngine


@pytest.mark.parametrize("value", [1, 0, None, "yes"])
def test_type_check_takes_a_bool(value: Any) -> None:
    with pytest.raises(ConfigurationError) as refused:
        MontyEngine(type_check=value)
    assert str(refused.value) == f"monty: type_check takes True or False; got {value!r}"


@pytest.mark.parametrize("value", [0, -1, 1.0, "2", True])
def test_cells_per_process_takes_a_whole_number(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="cells_per_process takes a whole number above 0"):
        MontyEngine(cells_per_process=value)


@pytest.mark.parametrize("value", [None, 1, 10**6])
def test_cells_per_process_may_be_any_or_none(value: int | None) -> None:
    MontyEngine(cells_per_process=value).close()


def test_a_realm_needs_no_process(engine: MontyEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: Any) -> Any:
        raise AssertionError("a process was taken")

    monkeypatch.setattr(engine.workers, "_checkout", refuse)
    realm = engine.open(Limits(), BridgeSet())
    assert (list(realm.names()), realm.values()) == ([], {})
    again = engine.open(Limits(), BridgeSet(), realm.image())
    assert again.image() == realm.image()


def test_an_image_of_another_engine_is_refused(engine: MontyEngine) -> None:
    image = engine.open(Limits(), BridgeSet()).image()
    for other in (Image("quickjs", image.base, image.data), Image("monty", "old", image.data)):
        with pytest.raises(ImageError):
            engine.open(Limits(), BridgeSet(), other)


def test_modules_cannot_be_imported() -> None:
    assert Capability.MODULES not in MontyEngine.capabilities
    assert Capability.SUSPENSION in MontyEngine.capabilities
