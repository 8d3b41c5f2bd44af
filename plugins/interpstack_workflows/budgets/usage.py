"""The resources that agents used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs

from interpstack import ConfigurationError

__all__ = ["WorkflowUsage"]

_NAMES: Final = ("input_tokens", "output_tokens", "cost", "seconds", "agents")
_NUMBERS: Final = frozenset({int, float})
#: Amounts that are counts.
_WHOLE: Final = frozenset({"input_tokens", "output_tokens", "agents"})


def _amount(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and value >= 0


@attrs.frozen(kw_only=True)
class WorkflowUsage:
    """The resources that agents used, as they report them.

    Attributes:
        input_tokens: Tokens that models read.
        output_tokens: Tokens that models wrote.
        cost: Money, in the currency of the host.
        seconds: Time that agents worked.
        agents: Calls of agents; attempts and corrections count.

    Raises:
        ConfigurationError: An amount is not a number, or is below 0.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    agents: int = 0

    def __attrs_post_init__(self) -> None:
        if self._is_usual():  # some are made for each step of a run
            return
        for name in _NAMES:
            value, whole = getattr(self, name), name in _WHOLE
            if not _amount(value) or (whole and type(value) is not int):
                kind = "a whole number" if whole else "a number"
                raise ConfigurationError(
                    f"Usage: {name} takes {kind}, 0 or more; got {value!r:.40}"
                )

    def _is_usual(self) -> bool:
        """Return whether all amounts are right, as they are but for faults of agents."""
        read, written, calls = self.input_tokens, self.output_tokens, self.agents
        whole = type(read) is type(written) is type(calls) is int
        if not whole or type(self.cost) not in _NUMBERS or type(self.seconds) not in _NUMBERS:
            return False
        least = min(read, written, calls, self.cost, self.seconds)
        return least >= 0 and max(self.cost, self.seconds) < math.inf

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: WorkflowUsage) -> WorkflowUsage:
        return WorkflowUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=self.cost + other.cost,
            seconds=self.seconds + other.seconds,
            agents=self.agents + other.agents,
        )

    def amounts(self) -> dict[str, float]:
        """Return the amounts by kind, as accounts draw them."""
        return {**{name: getattr(self, name) for name in _NAMES}, "tokens": self.tokens}

    @classmethod
    def of_amounts(cls, amounts: Mapping[str, Any]) -> WorkflowUsage:
        """Return the usage whose amounts an account has drawn."""
        return cls(**{name: amounts.get(name, 0) for name in _NAMES})

    def to_json(self) -> dict[str, Any]:
        """Return the amounts that are not 0, as plain JSON."""
        return {name: value for name in _NAMES if (value := getattr(self, name))}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> WorkflowUsage:
        """Return the usage that `to_json` wrote.

        Raises:
            ConfigurationError: The data are malformed.
        """
        if not isinstance(data, Mapping) or not set(_NAMES).issuperset(data):
            raise ConfigurationError(f"a usage has {', '.join(sorted(_NAMES))}; got {data!r:.80}")
        return cls(**data)
