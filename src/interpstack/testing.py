"""Alias of `interpstack_testing`, the kit for authors of engines, bridges and persistence modes."""

import sys
from typing import TYPE_CHECKING

import interpstack_testing

if TYPE_CHECKING:
    from interpstack_testing import *  # noqa: F403
sys.modules[__name__] = interpstack_testing
