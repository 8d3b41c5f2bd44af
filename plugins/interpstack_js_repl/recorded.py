"""Calls of `js_repl` as they were recorded, for readers that have no agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import attrs

from interpstack_js_repl.freeform import raw_text
from interpstack_js_repl.inputs import InputFault, check_fields, read_input
from interpstack_js_repl.plugin import HELPERS_RECORD, JsReplPlugin
from interpstack_langchain.api import RecordedCode, RecordedSurface

__all__ = ["RecordedJsRepl"]


@attrs.frozen
class RecordedJsRepl(RecordedSurface):
    """The surface of `JsReplMiddleware`: two tools, whose code has helpers."""

    #: The tool whose calls are taken for those of a REPL although no record says so.
    usual_tool: ClassVar[str] = "js_repl"
    usual_engine: ClassVar[str] = "node"

    @classmethod
    def of(
        cls,
        tool: str,
        calls: Sequence[Mapping[str, Any]],
        journals: Sequence[Sequence[Mapping[str, Any]]],
    ) -> Self | None:
        """The surface of a tool, with the helpers that the first journal describes."""
        for entries in journals:
            if entries and HELPERS_RECORD in entries[0]:
                return cls(tool, JsReplPlugin.recorded(entries[0][HELPERS_RECORD]))
        if tool == cls.usual_tool or any(raw_text(args) is not None for args in calls):
            return cls(tool, JsReplPlugin.recorded({"own": [tool]}))
        return None

    @classmethod
    def takes_code(cls, args: Mapping[str, Any]) -> bool:
        """Whether a call has code, as a field or as raw text."""
        return "code" in args or raw_text(args) is not None

    @property
    def tools(self) -> tuple[str, ...]:
        """The tool that takes code, and the tool that resets the REPL."""
        return (self.tool, f"{self.tool}_reset")

    def code(self, args: Mapping[str, Any]) -> RecordedCode:
        """The code of a call, whose first line may have options."""
        raw = raw_text(args)
        code = str(args.get("code")) if raw is None else raw
        try:
            check_fields(args if raw is None else {"code": raw}, tool=self.tool)
            given = read_input(code, args.get("timeout_ms"), tool=self.tool)
        except InputFault as fault:
            return RecordedCode(code, "", str(fault))
        return RecordedCode(code, given.source)
