"""Calls of `js_repl` as they were recorded: their source, and the helpers of their code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from interpstack_langchain.js_repl.freeform import raw_text
from interpstack_langchain.js_repl.inputs import InputFault, check_fields, read_input
from interpstack_langchain.js_repl.plugin import HELPERS_RECORD, JsReplPlugin

__all__ = ["RecordedCode", "repl_plugin", "takes_code"]

#: The tool whose calls are taken for those of a REPL although no record says so.
_USUAL: Final = "js_repl"


@attrs.frozen
class RecordedCode:
    """The code of one call.

    Attributes:
        code: The code, as the model wrote it.
        source: The code that ran.
        fault: The reason why nothing ran; empty if the code ran.
    """

    code: str
    source: str
    fault: str = ""

    @classmethod
    def of(cls, args: Mapping[str, Any], tool: str, *, is_repl: bool) -> RecordedCode:
        """The code of a call.

        Args:
            args: The call's arguments.
            tool: Name of the tool.
            is_repl: Whether the tool takes a line of options above the source.
        """
        raw = raw_text(args)
        code = str(args.get("code")) if raw is None else raw
        if not is_repl:
            return cls(code, code)
        try:
            check_fields({"code": raw} if raw is not None else args, tool=tool)
            return cls(code, read_input(code, args.get("timeout_ms"), tool=tool).source)
        except InputFault as fault:
            return cls(code, "", str(fault))


def takes_code(args: Mapping[str, Any]) -> bool:
    """Whether a call has code among its arguments."""
    return "code" in args or raw_text(args) is not None


def repl_plugin(
    tool: str, calls: Iterable[Mapping[str, Any]], journals: Iterable[Sequence[Mapping[str, Any]]]
) -> JsReplPlugin | None:
    """The plugin with the helpers of a REPL's code; `None` for the tool of another interpreter.

    Args:
        tool: Name of the tool.
        calls: The arguments of its calls.
        journals: The journals of its evals, of which the first with a record of the helpers counts.
    """
    for entries in journals:
        if entries and HELPERS_RECORD in entries[0]:
            return JsReplPlugin.recorded(entries[0][HELPERS_RECORD])
    if tool == _USUAL or any(raw_text(args) is not None for args in calls):
        return JsReplPlugin.recorded({"own": [tool]})
    return None
