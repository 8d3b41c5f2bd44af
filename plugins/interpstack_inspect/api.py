"""Public names of the plugin."""

from __future__ import annotations

from interpstack_inspect.contract.options import reading_options
from interpstack_inspect.contract.records import (
    AskedCall,
    Binding,
    ChatMessage,
    Computing,
    Conversation,
    ConversationRow,
    EarlierAnswer,
    EvalRecord,
    EvalSummary,
    InnerCall,
    PauseEvent,
    Question,
    TokenUse,
    ToolUse,
    Turn,
    TurnEntry,
)
from interpstack_inspect.contract.source import (
    AnswerRefused,
    NotRecorded,
    RunSource,
    SourceRequest,
)
from interpstack_inspect.shown.answers import failure_reason
from interpstack_inspect.shown.code import highlighted
from interpstack_inspect.shown.templates import record_style, templates
from interpstack_inspect.shown.texts import brief, visible
from interpstack_inspect.shown.timeline import BAR_WIDTH, Row, computed, last_second, timeline_rows

__all__ = [
    "BAR_WIDTH",
    "AnswerRefused",
    "AskedCall",
    "Binding",
    "ChatMessage",
    "Computing",
    "Conversation",
    "ConversationRow",
    "EarlierAnswer",
    "EvalRecord",
    "EvalSummary",
    "InnerCall",
    "NotRecorded",
    "PauseEvent",
    "Question",
    "Row",
    "RunSource",
    "SourceRequest",
    "TokenUse",
    "ToolUse",
    "Turn",
    "TurnEntry",
    "brief",
    "computed",
    "failure_reason",
    "highlighted",
    "last_second",
    "reading_options",
    "record_style",
    "templates",
    "timeline_rows",
    "visible",
]
