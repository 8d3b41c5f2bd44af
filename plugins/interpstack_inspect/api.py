"""Public names of the plugin."""

from __future__ import annotations

from interpstack_inspect.contract.options import reading_options
from interpstack_inspect.contract.records import (
    AskedCall,
    Binding,
    CellLook,
    Computing,
    Conversation,
    ConversationRow,
    EvalRecord,
    EvalSummary,
    InnerCall,
    PauseEvent,
    Question,
    Turn,
)
from interpstack_inspect.contract.source import (
    AnswerRefused,
    NotRecorded,
    RunSource,
    SourceRequest,
)
from interpstack_inspect.shown.code import highlighted
from interpstack_inspect.shown.templates import record_style, templates
from interpstack_inspect.shown.texts import visible
from interpstack_inspect.shown.timeline import BAR_WIDTH, Row, computed, last_second, timeline_rows

__all__ = [
    "BAR_WIDTH",
    "AnswerRefused",
    "AskedCall",
    "Binding",
    "CellLook",
    "Computing",
    "Conversation",
    "ConversationRow",
    "EvalRecord",
    "EvalSummary",
    "InnerCall",
    "NotRecorded",
    "PauseEvent",
    "Question",
    "Row",
    "RunSource",
    "SourceRequest",
    "Turn",
    "computed",
    "highlighted",
    "last_second",
    "reading_options",
    "record_style",
    "templates",
    "timeline_rows",
    "visible",
]
