"""Texts on spans: redacted, bounded, and none if the redaction fails."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_otel.api import Payloads


def test_a_text_is_cut_after_the_redaction() -> None:
    seen = []

    def redact(kind: str, name: str, text: str) -> str:
        seen.append((kind, name, len(text)))
        return text.replace("secret", "***")

    assert Payloads(redact, chars=5).shown("answer", "tool", "a secret") == "a ***"
    assert seen == [("answer", "tool", 8)]
    assert Payloads(lambda *_: None).shown("answer", "tool", "secret") is None


@pytest.mark.parametrize("redact", [lambda *_: 1 / 0, lambda *_: 7])
def test_a_failed_redaction_shows_nothing(redact: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "interpstack.otel"):
        assert Payloads(redact).shown("source", "", "secret") is None
    assert "secret" not in caplog.records[0].getMessage()


def test_arguments_are_json_that_can_be_exported() -> None:
    assert Payloads().tree("t", {"a": "é\ud800"}) == '{"a": "é?"}'


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"chars": 0}, "chars takes a whole number from 1 to 1048576; got 0"),
        ({"chars": True}, "got True"),
        ({"redact": "all"}, "redact takes a function of a kind, a name and a text; got 'all'"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], advice: str) -> None:
    with pytest.raises(ConfigurationError, match=advice):
        Payloads(**settings)
