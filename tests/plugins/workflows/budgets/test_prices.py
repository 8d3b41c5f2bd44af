"""Prices of models."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_workflows.api import Price
from interpstack_workflows.budgets.prices import Prices


def test_tokens_have_a_price_by_the_million() -> None:
    price = Price(input=3, output=15, cached_input=0.5)
    assert price.cost(1_000_000, 0) == 3
    assert price.cost(0, 2_000_000) == 30
    assert price.cost(1_000_000, 0, cached_tokens=600_000) == pytest.approx(1.5)
    assert price.cost(10, 0, cached_tokens=99) == pytest.approx(5e-6)
    assert Price(input=3, output=0).cost(1_000_000, 0, cached_tokens=500_000) == 3


def test_a_model_is_found_by_its_name_or_by_the_longest_pattern() -> None:
    small, large, any_one = (Price(input=n, output=n) for n in (1, 2, 9))
    table = {"acme-small": small, "acme-*": any_one, "acme-large-*": {"input": 2, "output": 2}}
    prices = Prices(table)
    assert prices.find("acme-small") == small
    assert prices.find("acme-large-2026") == large
    assert prices.find("acme-small-2") == any_one
    assert prices.find("other") is None
    assert prices.find(None) is None
    assert Prices().find("acme-small") is None


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], r"prices takes prices of a million tokens by the name of the model.*; got \[\]"),
        ({"m": 3}, "got 'm': 3"),
        ({"m": {"input": 1}}, "got 'm': {'input': 1}"),
        ({"m": {"input": 1, "output": 1, "inptu": 2}}, "got 'm'"),
        ({1: {"input": 1, "output": 1}}, "got 1: "),
        ({"m": {"input": "1", "output": 1}}, "input takes a number, 0 or more; got '1'"),
        ({"m": {"input": 1, "output": -1}}, "output takes a number, 0 or more; got -1"),
        ({"m": {"input": 1, "output": float("nan")}}, "output takes a number"),
        ({"m": {"input": 1, "output": 1, "cached_input": True}}, "cached_input takes a number"),
    ],
)
def test_other_tables_are_refused(table: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Prices(table)
