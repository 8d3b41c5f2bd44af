"""Sources by their name."""

from __future__ import annotations

from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_inspect.api import SourceRequest
from interpstack_langchain.inspecting.agents import AgentSource
from interpstack_langchain.inspecting.databases import DatabaseSource
from interpstack_langchain.inspecting.sources import open_source


def test_a_path_is_a_database_and_a_reference_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs.db").touch()
    assert isinstance(open_source(SourceRequest(target=str(tmp_path / "runs.db"))), DatabaseSource)
    assert isinstance(open_source(SourceRequest(target="json:loads")), AgentSource)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json:loads").touch()
    assert isinstance(open_source(SourceRequest(target="json:loads")), DatabaseSource)


def test_an_error_names_what_was_looked_for() -> None:
    with pytest.raises(ConfigurationError, match=r"gone\.db"):
        open_source(SourceRequest(target="gone.db"))
