"""The log of calls from code.

The logger `interpstack.tools` gets one bounded line for each call at `INFO`, and the exact answer
at `DEBUG`. The fields of a line are also attributes of its record: `tool`, `call_id`, `kind`,
`size`, `duration_ms` and `is_error`.
"""

from __future__ import annotations

import logging
import reprlib
import time
from typing import Any, Final, Self

from interpstack_langchain.tools.tool_errors import message_of

__all__ = ["CallLog"]

_log = logging.getLogger("interpstack.tools")
#: Bytes of a preview.
_PREVIEW: Final = 512
_short = reprlib.Repr()
_short.maxstring, _short.maxother, _short.maxlevel = _PREVIEW, _PREVIEW, 4


class CallLog:
    """Surrounds one call, and logs its end.

    Args:
        tool: Name of the tool.
        call_id: The call's tool-call id.
        passes: Exceptions that are no end of the call, such as a pause.
    """

    __slots__ = ("_begun", "_call_id", "_passes", "_tool")

    def __init__(
        self, tool: str, call_id: str, passes: tuple[type[BaseException], ...] = ()
    ) -> None:
        self._tool, self._call_id, self._passes = tool, call_id, passes
        self._begun = time.monotonic() if _log.isEnabledFor(logging.INFO) else None

    def answered(self, value: Any) -> None:
        """Log the answer that code gets."""
        if self._begun is not None:
            _note(self._tool, self._call_id, self._begun, *_measured(value), value, is_error=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or self._begun is None or isinstance(error, self._passes):
            return
        name, text = type(error).__name__, message_of(error)
        _note(self._tool, self._call_id, self._begun, name, len(text), text, is_error=True)


def _note(
    tool: str, call_id: str, begun: float, kind: str, size: int, value: Any, *, is_error: bool
) -> None:
    duration = (time.monotonic() - begun) * 1000
    fields = {
        "tool": tool,
        "call_id": call_id,
        "kind": kind,
        "size": size,
        "duration_ms": duration,
        "is_error": is_error,
    }
    line = "%s: is_error=%s, kind=%s, size=%d, %.1f ms, call %s: %s"
    shown = (_preview(tool), is_error, kind, size, duration, _preview(call_id), _preview(value))
    _log.info(line, *shown, extra=fields)
    _log.debug("%s answered %r", tool, value, extra=fields)


def _measured(value: Any) -> tuple[str, int]:
    """The kind of an answer, and its size in characters, bytes, items or content blocks."""
    if value is None:
        return "nothing", 0
    if isinstance(value, (str, bytes)):
        return ("text" if isinstance(value, str) else "bytes"), len(value)
    if isinstance(value, dict):
        return "object", len(value)
    if not isinstance(value, list):
        return type(value).__name__, 1
    blocks = bool(value) and all(isinstance(item, dict) and "type" in item for item in value)
    return ("content" if blocks else "list"), len(value)


def _preview(value: Any) -> str:
    """A value in one line of printable characters."""
    text = value[:_PREVIEW] if isinstance(value, str) else _short.repr(value)
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_PREVIEW])
    return printable.encode("utf-8", "replace")[:_PREVIEW].decode("utf-8", "ignore")
