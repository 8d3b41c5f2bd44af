"""An interpreter in each test, which is closed at its end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai_scripts import Make

from interpstack_pydantic_ai import CodeInterpreter


@pytest.fixture
async def interpreter() -> AsyncIterator[Make]:
    made: list[CodeInterpreter[Any]] = []

    def make(**options: Any) -> CodeInterpreter[Any]:
        made.append(CodeInterpreter(**options))
        return made[-1]

    yield make
    for one in made:
        await one.aclose()
