"""Models that users name; their faults are one line, tested through the command, too."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_langchain.demo.chosen_model import chosen_model, no_answer


def test_a_model_is_made_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    made: Any = object()
    monkeypatch.setattr(
        "langchain.chat_models.init_chat_model", lambda name: {"some:model": made}[name]
    )
    assert chosen_model("some:model") is made
    with pytest.raises(ConfigurationError, match="cannot be used: KeyError: 'other'; give it as"):
        chosen_model("other")


def test_causes_are_told_once() -> None:
    inner = OSError("no route")
    outer = ConnectionError("failed")
    outer.__cause__ = inner
    assert "answer: ConnectionError: failed <- OSError: no route; check" in str(
        no_answer("m", outer)
    )
    inner.__cause__ = OSError("no route")
    assert str(no_answer("m", outer)).count("no route") == 1
    assert "did not answer: told; check" in str(no_answer("m", "told"))
