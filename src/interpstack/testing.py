"""Alias of `interpstack_testing`, the kit for authors of engines, bridges and persistence modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import interpstack_testing
from interpstack_testing import __all__ as __all__

if TYPE_CHECKING:
    from interpstack_testing import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(interpstack_testing, name)

    def __dir__() -> list[str]:
        return list(__all__)
