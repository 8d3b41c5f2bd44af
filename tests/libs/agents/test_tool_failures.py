"""Exceptions of tools that code catches, and those that leave the eval."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interpstack import GuestException
from interpstack_agents import DecisionNeeded, HostFailure, call_for_code


def words(error: Exception) -> str | None:
    return str(error) if isinstance(error, ValueError) else None


async def raising(error: BaseException) -> Any:
    raise error


async def returning() -> int:
    return 1


async def test_the_value_of_a_call_is_passed_on() -> None:
    assert await call_for_code(returning(), words) == 1


async def test_what_has_words_is_for_code() -> None:
    with pytest.raises(GuestException, match="too many"):
        await call_for_code(raising(ValueError("too many")), words)


async def test_what_has_none_leaves_the_eval() -> None:
    error = OSError("broken")
    with pytest.raises(HostFailure) as caught:
        await call_for_code(raising(error), words)
    assert caught.value.error is error


@pytest.mark.parametrize(
    "error", [GuestException("own"), DecisionNeeded([]), asyncio.CancelledError()]
)
async def test_others_are_raised_as_they_are(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        await call_for_code(raising(error), words, (DecisionNeeded,))
    assert caught.value is error
