"""Serializers that a replay reads with, and one line for what cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from interpstack import ConfigurationError
from interpstack_langchain.replay.serializers import (
    Checked,
    environment_key,
    reading,
    serializer,
)

JSON_PLUS = "langgraph.checkpoint.serde.jsonplus:JsonPlusSerializer"


def test_without_an_option_it_is_langgraphs_own() -> None:
    assert serializer(None, None) is None
    assert isinstance(serializer(JSON_PLUS, None), JsonPlusSerializer)


@pytest.mark.parametrize(
    ("named", "variable", "message"),
    [
        (JSON_PLUS, "KEY", "exclude each other"),
        ("no.such:thing", None, "there is no module 'no'"),
        ("builtins:len", None, "cannot be called: TypeError"),
        ("builtins:dict", None, "a dict is not a serializer"),
        (None, "MISSING", "this environment variable is not set"),
        (None, "SHORT", "it holds 5 bytes; a key of AES has 16, 24 or 32"),
    ],
)
def test_wrong_options_are_reported(
    named: str | None, variable: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORT", "short")
    with pytest.raises(ConfigurationError, match=message):
        serializer(named, variable)


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "secret")
    assert environment_key("--key-env", "KEY", "a key") == b"secret"


@pytest.mark.parametrize(
    ("kind", "option", "message"),
    [
        ("msgpack", "", "a stored value of the kind 'msgpack' cannot be read, so it is damaged: "),
        ("msgpack", "--serializer x", "or --serializer x is not what wrote it"),
        ("msgpack+aes", "", r"are encrypted \('aes'\): name the variable"),
    ],
)
def test_what_cannot_be_read_is_reported_in_one_line(kind: str, option: str, message: str) -> None:
    saver: Any = InMemorySaver()
    Checked.install(saver, option)
    assert saver.serde.loads_typed(saver.serde.dumps_typed({"a": 1})) == {"a": 1}
    with pytest.raises(ConfigurationError, match=message):
        saver.serde.loads_typed((kind, b"\xc1"))


def test_a_record_that_nests_too_deep_is_damaged() -> None:
    answers = "thread x: its record cannot be read, so it is damaged \\(RecursionError"
    with pytest.raises(ConfigurationError, match=answers), reading("thread x"):
        json.loads("[" * 100_000)
