"""What engines and the kernel tell each other, as text; see `docs/how-to/write-an-engine.md`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from interpstack.engine import Completion, Settlement

__all__ = ["answer_text", "seed_words", "value_completion"]


def answer_text(settlement: Settlement) -> str:
    """One item of the kernel's `resume`: id, whether it failed, value or error."""
    error = settlement.error
    if error is None:
        return f"[{settlement.id},false,{settlement.text}]"
    body = {"name": error.name, "message": error.message, "data": dict(error.data)}
    return f"[{settlement.id},true,{json.dumps(body)}]"


def seed_words(seed: int | None) -> list[int]:
    """A cell's seed as the kernel's `begin` takes it: four words of 32 bits, the lowest first."""
    return [((seed or 0) >> shift) & 0xFFFFFFFF for shift in (0, 32, 64, 96)]


def value_completion(told: Mapping[str, Any]) -> Completion:
    """The end of a cell that did not throw, as the kernel tells it."""
    return Completion(
        text=told["text"],
        omitted_chars=told["omitted"],
        omitted_exact=told["exact"],
        handle=told["handle"],
        undefined=told["undefined"],
    )
