"""Tests of interpstack_workers.outer: engines named `outer:inner`, and how workers load them."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import pytest
from fake_stacks import ImagingEngine

from interpstack import Capability, ConfigurationError, Engine
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_testing import FakeEngine
from interpstack_workers import OuterEngine, load_engine
from interpstack_workers.outer import check_flag, check_number


class Outer(OuterEngine):
    """Runs engines in boats."""

    name: ClassVar[str] = "outer"
    worker_title: ClassVar[str] = "boat"

    def __init__(self, *, boats: int = 1, **options: Any) -> None:
        self.options = self.inner_options(options)

    @classmethod
    def refusal(cls, inner: type[Engine]) -> str:
        return "it is too heavy" if inner is ImagingEngine else ""

    def open(self, *given: Any) -> Any: ...


class Fleet(Outer):
    """Runs boats, too."""

    name: ClassVar[str] = "fleet"
    worker_title: ClassVar[str] = "ship"
    nests: ClassVar[bool] = True


def test_an_engine_in_workers_is_as_the_inner_one() -> None:
    cls: Any = Outer.around(QuickJSEngine)
    assert (cls.name, cls.language, cls.dialects) == (
        "outer:quickjs",
        "javascript",
        QuickJSEngine.dialects,
    )
    assert cls.capabilities == QuickJSEngine.capabilities - {Capability.KEPT_REALMS}
    assert cls is Outer.around(QuickJSEngine)
    assert Outer.around(FakeEngine)().runs is FakeEngine


def test_a_worker_loads_the_same_engines() -> None:
    cls: Any = Fleet.around(Outer.around(QuickJSEngine))
    assert cls.name == "fleet:outer:quickjs"
    assert cls.reference() == [
        f"{__name__}:Outer",
        "interpstack_quickjs.engine:QuickJSEngine",
    ]
    assert load_engine(["interpstack_quickjs.engine:QuickJSEngine"]) is QuickJSEngine
    nested = load_engine(
        ["interpstack_process.engine:ProcessEngine", "interpstack_quickjs.engine:QuickJSEngine"]
    )
    assert nested.name == "process:quickjs"


@pytest.mark.parametrize(
    ("outer", "inner", "found"),
    [
        (Outer, Fleet.around(FakeEngine), "a boat cannot run 'fleet:fake'; name one engine"),
        (Fleet, Fleet.around(FakeEngine), "a ship cannot run 'fleet:fake'; name one engine"),
        (Outer.around(FakeEngine), FakeEngine, "a boat cannot run 'fake'; name one engine"),
        (Outer, ImagingEngine, "cannot run 'imaging': it is too heavy; ask for 'imaging' alone"),
    ],
)
def test_engines_that_cannot_be_run_are_refused(outer: Any, inner: Any, found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        outer.around(inner)


def test_a_class_that_workers_cannot_import_is_refused() -> None:
    class Local(FakeEngine):
        name: ClassVar[str] = "local"

    with pytest.raises(ConfigurationError, match="define its class at the top of a module"):
        Outer.around(Local)


def test_no_engine_and_wrong_options_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="name the engine that each boat is to run"):
        Outer()
    cls: Any = Outer.around(QuickJSEngine)
    with pytest.raises(TypeError, match="colour"):
        cls(colour="red")


@pytest.mark.parametrize(("value", "least"), [(1, 1), (2**40, 1), (0.1, 0.1), (3, 0.1)])
def test_numbers_are_accepted(value: Any, least: float) -> None:
    check_number("size", value, least)


@pytest.mark.parametrize(
    ("value", "least", "found"),
    [
        (True, 1, "size takes a whole number; got True"),
        (1.0, 1, "size takes a whole number; got 1.0"),
        ("1", 0.1, "size takes a number; got '1'"),
        (0, 1, "size takes a number of at least 1; got 0"),
        (float("inf"), 0.1, "size takes a number of at least 0.1; got inf"),
        (float("nan"), 0.1, "size takes a number of at least 0.1; got nan"),
    ],
)
def test_other_values_are_no_numbers(value: Any, least: float, found: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{re.escape(found)}$"):
        check_number("size", value, least)


def test_flags() -> None:
    check_flag("keep", True)
    check_flag("keep", False)
    with pytest.raises(ConfigurationError, match="keep takes True or False; got 1"):
        check_flag("keep", 1)


def test_cells_are_repeated_where_the_inner_engine_can() -> None:
    able: Any = Outer.around(QuickJSEngine)
    unable: Any = Outer.around(FakeEngine)
    assert able.repeats_cells() is True
    assert unable.repeats_cells() is False
