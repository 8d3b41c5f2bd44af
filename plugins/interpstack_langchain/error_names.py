"""Names of errors in langchain-quickjs, which replace those of interpstack."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["ERROR_NAMES"]

#: For `HostOffer.error_names`: code in an agent, and the model, see the names on the right.
ERROR_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {"CallBudgetExceeded": "PTCCallBudgetExceeded", "ModuleNotFound": "SkillNotAvailable"}
)
