"""Sources are found by the packages that know their kind."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest
from inspected import RecordSource

from interpstack import ConfigurationError
from interpstack_inspect import opening
from interpstack_inspect.api import SourceRequest
from interpstack_inspect.opening import GROUP, open_source

REQUEST = SourceRequest(target="somewhere")


def knows(request: SourceRequest) -> Any:
    return RecordSource({request.target: []})


def knows_nothing(request: SourceRequest) -> Any:
    return None


def knows_no_contract(request: SourceRequest) -> Any:
    return "a source"


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found: dict[str, str] = {}

    def entry_points(group: str) -> list[EntryPoint]:
        return [EntryPoint(name, value, group) for name, value in found.items()]

    monkeypatch.setattr(opening, "entry_points", entry_points)
    return found


def _named(function: Any) -> str:
    return f"{__name__}:{function.__name__}"


def test_the_first_package_that_knows_it_opens_it(packages: dict[str, str]) -> None:
    packages.update(b=_named(knows), a=_named(knows_nothing))
    source = open_source(REQUEST)
    assert isinstance(source, RecordSource)
    assert [*source.evals] == ["somewhere"]


def test_nobody_knows_it(packages: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="records of 'somewhere'; these were asked: none"):
        open_source(REQUEST)
    packages.update(b=_named(knows_nothing), a=_named(knows_nothing))
    with pytest.raises(ConfigurationError, match="these were asked: a, b"):
        open_source(REQUEST)


def test_a_package_that_breaks_the_contract_is_named(packages: dict[str, str]) -> None:
    packages.update(a=_named(knows_no_contract))
    with pytest.raises(ConfigurationError, match="returned 'a source', which is not a RunSource"):
        open_source(REQUEST)


def test_a_missing_package_is_named_with_the_extra(packages: dict[str, str]) -> None:
    packages.update(a="there_is_no_such_module:open")
    with pytest.raises(
        ConfigurationError, match=r"there_is_no_such_module.*interpstack\[inspect\]"
    ):
        open_source(REQUEST)


def test_this_distribution_opens_databases(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import entry_points

    assert "langchain" in {point.name for point in entry_points(group=GROUP)}
