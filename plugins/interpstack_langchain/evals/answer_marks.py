"""Facts about an eval that its answer carries beside its text, for readers of the thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import ToolMessage

__all__ = ["REFUSED", "was_refused"]

#: The metadata of the answer to code that was refused before anything of it ran.
REFUSED: Final[Mapping[str, Any]] = {"interpreter": "refused"}


def was_refused(answer: ToolMessage) -> bool:
    """Whether an answer says that nothing of the code ran."""
    return answer.response_metadata.items() >= REFUSED.items()
