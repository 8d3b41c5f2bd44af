"""JSON text of guests, read so that other threads of the process go on meanwhile.

`json.loads` lets no other thread run before it ends, so a text with some hundred thousand parts
stops an event loop, in whatever thread it is read. Long texts are read in pieces instead.
"""

from __future__ import annotations

import json
from typing import Any, Final

from interpstack_protocol.long_json import LongReader

__all__ = ["read_json"]

#: Characters that are read at once.
_SHORT_CHARS: Final = 2**17


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


# `json.loads` with options makes a decoder each time, which takes longer than most texts.
_decode: Final = json.JSONDecoder(parse_constant=_refused).decode


def read_json(text: str) -> Any:
    """The value of a JSON text; `NaN` and `Infinity` are refused.

    Raises:
        ValueError: The text is not JSON.
        RecursionError: It is nested too deep.
    """
    if len(text) <= _SHORT_CHARS:
        return _decode(text)
    return LongReader(text, _refused).read()
