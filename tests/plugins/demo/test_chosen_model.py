"""Models that users name; their faults are one line, tested through the command, too."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_demo.chosen_model import chosen_model, no_answer


def test_a_model_is_made_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = object()
    monkeypatch.setattr(
        "langchain.chat_models.init_chat_model", lambda name: {"some:model": made}[name]
    )
    assert chosen_model("some:model") is made
    with pytest.raises(ConfigurationError, match="cannot be used: KeyError: 'other'; give it as"):
        chosen_model("other")


def test_a_long_list_is_not_cut_within_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> None:
        raise ValueError(name)

    monkeypatch.setattr("langchain.chat_models.init_chat_model", unknown)
    providers = ", ".join(f"provider_{number}" for number in range(40))
    with pytest.raises(ConfigurationError, match=f"ValueError: {providers}; give it as"):
        chosen_model(providers)
    with pytest.raises(ConfigurationError, match=r"provider_\d+, …; give it as"):
        chosen_model(", ".join([providers] * 9))
    with pytest.raises(ConfigurationError, match=r"x{1200} …; give it as"):
        chosen_model("x" * 5000)


def test_causes_are_reported_once() -> None:
    inner = OSError("no route")
    outer = ConnectionError("failed")
    outer.__cause__ = inner
    assert "answer: ConnectionError: failed <- OSError: no route; check" in str(
        no_answer("m", outer)
    )
    inner.__cause__ = OSError("no route")
    assert str(no_answer("m", outer)).count("no route") == 1
    assert "did not answer: told; check" in str(no_answer("m", "told"))
