"""Sources by their name."""

from __future__ import annotations

from pathlib import Path

from interpstack_inspect.api import SourceRequest
from interpstack_langchain.inspecting.databases import DatabaseSource
from interpstack_langchain.inspecting.sources import open_source


def test_a_path_is_a_database(tmp_path: Path) -> None:
    assert isinstance(open_source(SourceRequest(target=str(tmp_path))), DatabaseSource)
