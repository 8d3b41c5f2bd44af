"""Prices of models: the money that their tokens cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

import attrs

from interpstack import ConfigurationError

__all__ = ["Price", "Prices"]

_MILLION: Final = 1_000_000
_FORM: Final = (
    'prices takes prices of a million tokens by the name of the model, as in {"acme-large":'
    ' {"input": 3, "output": 15, "cached_input": 0.3}}'
)


def _amount(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if value is None and attribute.name == "cached_input":
        return
    if type(value) not in (int, float) or not 0 <= value < math.inf:
        raise ConfigurationError(
            f"{_FORM}; {attribute.name} takes a number, 0 or more; got {value!r:.40}"
        )


@attrs.frozen(kw_only=True)
class Price:
    """The price of a model, in the currency of the host.

    Attributes:
        input: Money for a million tokens that the model reads.
        output: Money for a million tokens that it writes.
        cached_input: Money for a million tokens that it reads from a cache; `None` for `input`.

    Raises:
        ConfigurationError: An amount is not a number, or is below 0.
    """

    input: float = attrs.field(validator=_amount)
    output: float = attrs.field(validator=_amount)
    cached_input: float | None = attrs.field(default=None, validator=_amount)

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the money that one call costs.

        Args:
            input_tokens: All tokens that the model read.
            output_tokens: All tokens that it wrote.
            cached_tokens: How many of the tokens that it read came from a cache.
        """
        cached = min(cached_tokens, input_tokens)
        from_cache = self.input if self.cached_input is None else self.cached_input
        money = (input_tokens - cached) * self.input + cached * from_cache
        return (money + output_tokens * self.output) / _MILLION


class Prices:
    """A table of prices by the names that models report.

    Args:
        table: Prices by name, or mappings with the fields of `Price`. `*` in a name stands for any
            characters, as in `acme-large-*`; of several names that match, the longest counts.

    Raises:
        ConfigurationError: The table is malformed.
    """

    def __init__(self, table: Mapping[str, Price | Mapping[str, Any]] | None = None) -> None:
        if table is not None and not isinstance(table, Mapping):
            raise ConfigurationError(f"{_FORM}; got {table!r:.80}")
        self._table = {name: _price(name, price) for name, price in (table or {}).items()}

    def find(self, model: str | None) -> Price | None:
        """Return the price of a model; `None` if the table has none."""
        if model is None or model in self._table:
            return self._table.get(model or "")
        fitting = [name for name in self._table if "*" in name and fnmatchcase(model, name)]
        return self._table[max(fitting, key=len)] if fitting else None


def _price(name: Any, given: Any) -> Price:
    if isinstance(given, Price) and isinstance(name, str):
        return given
    fields = {field.name for field in attrs.fields(Price)}
    fits = isinstance(name, str) and isinstance(given, Mapping)
    if not fits or not {"input", "output"} <= set(given) <= fields:
        raise ConfigurationError(f"{_FORM}; got {name!r:.80}: {given!r:.80}")
    return Price(**given)
