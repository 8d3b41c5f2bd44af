"""The store in memory."""

from __future__ import annotations

import pytest
from workflow_stores import StoreTests

from interpstack_workflows.stores.memory import MemoryWorkflowStore


class TestMemory(StoreTests):
    @pytest.fixture
    def store(self) -> MemoryWorkflowStore:
        return MemoryWorkflowStore()
