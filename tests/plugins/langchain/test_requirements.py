"""A package that is missing is named with the extra that brings it."""

from __future__ import annotations

import pytest

from interpstack_langchain import requirements


def test_what_is_installed_is_enough() -> None:
    requirements.check_requirements()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"deepagents", "langgraph"}
    found = requirements.find_spec
    monkeypatch.setattr(
        requirements, "find_spec", lambda name: None if name in missing else found(name)
    )
    with pytest.raises(
        ModuleNotFoundError, match=r"deepagents, langgraph; .*interpstack\[langch"
    ) as e:
        requirements.check_requirements()
    assert e.value.name == "deepagents"
