"""A plugin with exporters in memory."""

from __future__ import annotations

import pytest
from traces import Traces


@pytest.fixture
def traces() -> Traces:
    return Traces()
