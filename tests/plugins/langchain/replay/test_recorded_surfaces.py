"""Readers learn from packages which recorded calls hold code, and how it runs again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest
from fake_distributions import install_points
from langgraph.checkpoint.base import BaseCheckpointSaver
from recorded_steps import Thread, call

from interpstack import ConfigurationError
from interpstack_langchain.api import RecordedCode, RecordedSurface
from interpstack_langchain.inspecting.conversations import ReadingOptions
from interpstack_langchain.replay.recorded_evals import RecordedEval, recorded_evals
from interpstack_langchain.replay.recorded_surfaces import (
    GROUP,
    recorded_surfaces,
    usual_tools,
)

Install = Callable[..., None]


#: Stands for the plugin with the helpers of formulas.
HELPERS = "helpers"


class RecordedSheet(RecordedSurface):
    """The surface of an interpreter whose code is the field `formula`, below an equals sign."""

    usual_tool: ClassVar[str] = "sheet"

    @classmethod
    def of(
        cls,
        tool: str,
        calls: Sequence[Mapping[str, Any]],
        journals: Sequence[Sequence[Mapping[str, Any]]],
    ) -> RecordedSheet | None:
        return cls(tool, HELPERS) if calls or tool == cls.usual_tool else None

    @classmethod
    def takes_code(cls, args: Mapping[str, Any]) -> bool:
        return "formula" in args

    @property
    def tools(self) -> tuple[str, ...]:
        return (self.tool, f"{self.tool}_clear")

    def code(self, args: Mapping[str, Any]) -> RecordedCode:
        formula = str(args["formula"])
        if not formula.startswith("="):
            return RecordedCode(formula, "", "a formula begins with =")
        return RecordedCode(formula, formula[1:])


class NoSurface:
    """A class that is no surface."""


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Registers surfaces, in place of those that are installed."""

    def install(**values: str) -> None:
        points = [EntryPoint(name, value, GROUP) for name, value in values.items()]
        install_points(monkeypatch, *points)
        recorded_surfaces.cache_clear()

    yield install
    monkeypatch.undo()
    recorded_surfaces.cache_clear()


def evals_of(thread: Thread, *tools: str) -> list[RecordedEval]:
    saver: BaseCheckpointSaver[Any] = thread  # type: ignore[assignment]
    return recorded_evals(saver, "t", tools or usual_tools())


def test_without_other_packages_there_is_the_plain_surface(install: Install) -> None:
    install()
    assert usual_tools() == ("eval",)
    assert ReadingOptions().tools == ("eval",)
    assert RecordedSurface.of("js", [], []) == RecordedSurface("js")
    assert RecordedSurface("js").code({"code": "1"}) == RecordedCode("1", "1")
    assert not RecordedSurface.takes_code({"formula": "=1"})


def test_the_surfaces_of_packages_come_before_the_plain_one(install: Install) -> None:
    install(sheet=f"{__name__}:RecordedSheet")
    assert [one.__name__ for one in recorded_surfaces()] == ["RecordedSheet", "RecordedSurface"]
    assert usual_tools() == ("eval", "sheet")
    thread = Thread()
    thread.step(call("a", "1"), call("b", name="sheet", formula="=2"))
    thread.step(call("c", name="grid", formula="3"))
    plain, sheet = evals_of(thread)
    assert plain.surface == RecordedSurface("eval")
    assert sheet.surface == RecordedSheet("sheet", HELPERS)
    assert (sheet.tool_name, sheet.code) == ("sheet", RecordedCode("=2", "2"))
    (grid,) = evals_of(thread, "grid")
    assert grid.surface == RecordedSheet("grid", HELPERS)
    assert grid.not_begun == "a formula begins with ="


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("there_is_no_such_module:Surface", "calls of 'sheet' cannot be read, .*no_such_module"),
        (f"{__name__}:NoSurface", "NoSurface'>, which is not derived from RecordedSurface"),
    ],
)
def test_a_package_that_breaks_the_contract_is_named(
    install: Install, value: str, message: str
) -> None:
    install(sheet=value)
    with pytest.raises(ConfigurationError, match=message):
        usual_tools()
