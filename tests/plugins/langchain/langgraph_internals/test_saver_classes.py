"""Classes of checkpointers."""

from __future__ import annotations

import sys

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

from interpstack import ConfigurationError
from interpstack_langchain.langgraph_internals.saver_classes import saver_class


def test_each_kind_of_database_has_a_class() -> None:
    assert saver_class("sqlite", "this") is SqliteSaver
    assert saver_class("postgres", "this") is PostgresSaver


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.sqlite", None)
    with pytest.raises(
        ConfigurationError, match=r"^--db needs .*install langgraph-checkpoint-sqlite"
    ):
        saver_class("sqlite", "--db")
