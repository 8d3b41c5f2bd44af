"""Selectors choose models, strictly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interpstack import ConfigurationError
from interpstack_workflows.agents.selectors import ModelChoice, Models, SelectorFault

_MODELS = Models(
    {"fast": "acme/small", "deep": "large?provider=acme&thinking=high", "plain": "medium"}
)


@pytest.mark.parametrize(
    ("model", "provider", "chosen"),
    [
        (None, None, ModelChoice()),
        (None, "acme", ModelChoice(None, "acme")),
        ("m", None, ModelChoice("m")),
        ("acme/m", None, ModelChoice("m", "acme")),
        ("hub/acme/m", None, ModelChoice("acme/m", "hub")),
        ("acme/m", "hub", ModelChoice("acme/m", "hub")),
        ("acme/m", "acme", ModelChoice("m", "acme")),
        ("acme/m?provider=hub", None, ModelChoice("acme/m", "hub")),
        ("m?thinking=low", None, ModelChoice("m", None, {"thinking": "low"})),
        ("m?thinking=low&provider=p", "p", ModelChoice("m", "p", {"thinking": "low"})),
        ("a%3Fb%25", None, ModelChoice("a?b%")),
        ("m?thinking=a%26b%3D%C3%A9", None, ModelChoice("m", None, {"thinking": "a&b=é"})),
        ("fast", None, ModelChoice("small", "acme")),
        ("fast", "acme", ModelChoice("small", "acme")),
        ("deep", None, ModelChoice("large", "acme", {"thinking": "high"})),
        ("deep?thinking=low", None, ModelChoice("large", "acme", {"thinking": "low"})),
        ("plain", "hub", ModelChoice("medium", "hub")),
    ],
)
def test_selectors_choose(model: Any, provider: Any, chosen: ModelChoice) -> None:
    assert _MODELS.choose({"model": model, "provider": provider}) == chosen


@pytest.mark.parametrize(
    ("model", "provider", "message"),
    [
        (3, None, "model takes a string; got 3"),
        ("", None, "model takes a printable name of up to 500 characters; got ''"),
        ("m" * 501, None, "model takes a printable name"),
        ("a\nb", None, "model takes a printable name"),
        ("m", "", "provider takes a printable name"),
        ("m", [], "provider takes a string; got []"),
        ("?thinking=low", None, "'?thinking=low' names no model"),
        ("/m", None, "'/m' takes a name on both sides of its first '/'"),
        ("acme/", None, "'acme/' takes a name on both sides of its first '/'"),
        ("m?", None, "'m?' has the parameter ''; known are provider and thinking"),
        ("m?thinking=a&", None, "has the parameter ''"),
        ("m?effort=a", None, "'m?effort=a' has the parameter 'effort'; known are provider"),
        ("m?thinking", None, "takes one value for 'thinking', as in thinking=value"),
        ("m?thinking=", None, "takes one value for 'thinking'"),
        ("m?thinking=a=b", None, "takes one value for 'thinking'"),
        ("m?thinking=a?b", None, "takes one value for 'thinking'"),
        ("m?thinking=a&thinking=a", None, "has the parameter 'thinking' twice"),
        ("m%", None, "'m%' has a bad escape; '%' itself is written as %25"),
        ("m?thinking=%2", None, "has a bad escape"),
        ("m?thinking=%ff", None, "has a bad escape"),
        ("m?thinking=%00", None, "has a bad escape"),
        ("m?provider=a", "b", "'m?provider=a' is of provider 'a', not of 'b'"),
        ("fast", "other", "'fast' is of provider 'acme', not of 'other'"),
        ("fast?provider=other", None, "is of provider 'acme', not of 'other'"),
    ],
)
def test_wrong_selectors_are_refused(model: Any, provider: Any, message: str) -> None:
    with pytest.raises(SelectorFault) as raised:
        _MODELS.choose({"model": model, "provider": provider})
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, ModelChoice("m", "p")),
        ({"model": None}, ModelChoice(None, "p")),
        ({"model": "own"}, ModelChoice("own", "p")),
        ({"model": "acme/own"}, ModelChoice("own", "acme")),
        ({"model": "fast"}, ModelChoice("small", "acme")),
        ({"provider": "q"}, ModelChoice("m", "q")),
        ({"provider": None}, ModelChoice("m", None)),
        ({"model": "own", "provider": "q"}, ModelChoice("own", "q")),
    ],
)
def test_a_phase_fills_what_a_call_leaves_out(options: dict[str, Any], chosen: ModelChoice) -> None:
    assert _MODELS.choose(options, {"model": "m", "provider": "p"}) == chosen


@given(model=st.text(max_size=30), provider=st.none() | st.text(max_size=5))
def test_any_text_is_a_choice_or_a_fault(model: str, provider: str | None) -> None:
    try:
        choice = _MODELS.choose({"model": model, "provider": provider})
    except SelectorFault:
        return
    assert choice.model
    assert provider in (None, choice.provider)


@pytest.mark.parametrize(
    ("aliases", "message"),
    [
        ({"a/b": "m"}, "models takes names without '/', '?' and '%'; got 'a/b'"),
        ({"": "m"}, "models takes names"),
        ({3: "m"}, "models takes names"),
        ({"a": None}, "models: 'a': model takes a string; got None"),
        ({"a": "m?x=1"}, "models: 'a': model 'm?x=1' has the parameter 'x'"),
    ],
)
def test_wrong_aliases_are_refused(aliases: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Models(aliases)
    assert message in str(raised.value)


def test_an_alias_names_no_other_alias() -> None:
    assert Models({"a": "b", "b": "acme/m"}).choose({"model": "a"}) == ModelChoice("b")
