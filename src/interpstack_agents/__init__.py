"""Parts that every adapter of an agent framework needs."""

from __future__ import annotations

from interpstack_agents.approvals import (
    Approved,
    CallQuestion,
    Decision,
    DecisionNeeded,
    DecisionRejected,
    Denied,
    check_decided,
    check_decisions,
    check_edit,
    open_questions,
)
from interpstack_agents.conversations import ClaimedConversation, Conversations, StateJournal
from interpstack_agents.eval_queue import EvalQueue, QueuePosition
from interpstack_agents.feeds.feed import Feed
from interpstack_agents.feeds.subscription import (
    ConsoleText,
    FeedItem,
    Missed,
    ProgressEvent,
    Subscription,
)
from interpstack_agents.interpreter_section import (
    InterpreterFacts,
    interpreter_section,
    lifetime_of_variables,
)
from interpstack_agents.journals import JournalBase, Notes
from interpstack_agents.json_objects import json_object
from interpstack_agents.live_session import LiveSession, SavedState
from interpstack_agents.live_sessions import LiveSessions
from interpstack_agents.marked_values import Mark
from interpstack_agents.offers import OfferBuilder
from interpstack_agents.persistence import (
    ConversationContext,
    Persistence,
    PersistenceScope,
    RecordRejected,
    check_signing_key,
    persistence_mode,
    persistence_modes,
    shared_key,
)
from interpstack_agents.presets import Preset
from interpstack_agents.progress import ProgressEmitter
from interpstack_agents.readable_calls import (
    readable_arguments,
    readable_json,
    readable_request,
    readable_wire,
)
from interpstack_agents.records import (
    Record,
    are_records,
    joined,
    json_records,
    read_json_records,
    token_of,
)
from interpstack_agents.shown_handles import (
    has_handles,
    read_handles,
    shown_arguments,
    shown_handles,
    with_handles,
)
from interpstack_agents.shown_texts import escaped_text, has_half, read_texts, shown_texts
from interpstack_agents.tool_bridges import (
    as_single_field,
    has_many_parts,
    plain_input,
    tool_fault,
    tool_handler,
    tool_input,
)
from interpstack_agents.tool_failures import HostFailure, call_for_code
from interpstack_agents.tool_fields import unknown_field
from interpstack_agents.tool_search import found_tools

__all__ = [
    "Approved",
    "CallQuestion",
    "ClaimedConversation",
    "ConsoleText",
    "ConversationContext",
    "Conversations",
    "Decision",
    "DecisionNeeded",
    "DecisionRejected",
    "Denied",
    "EvalQueue",
    "Feed",
    "FeedItem",
    "HostFailure",
    "InterpreterFacts",
    "JournalBase",
    "LiveSession",
    "LiveSessions",
    "Mark",
    "Missed",
    "Notes",
    "OfferBuilder",
    "Persistence",
    "PersistenceScope",
    "Preset",
    "ProgressEmitter",
    "ProgressEvent",
    "QueuePosition",
    "Record",
    "RecordRejected",
    "SavedState",
    "StateJournal",
    "Subscription",
    "are_records",
    "as_single_field",
    "call_for_code",
    "check_decided",
    "check_decisions",
    "check_edit",
    "check_signing_key",
    "escaped_text",
    "found_tools",
    "has_half",
    "has_handles",
    "has_many_parts",
    "interpreter_section",
    "joined",
    "json_object",
    "json_records",
    "lifetime_of_variables",
    "open_questions",
    "persistence_mode",
    "persistence_modes",
    "plain_input",
    "read_handles",
    "read_json_records",
    "read_texts",
    "readable_arguments",
    "readable_json",
    "readable_request",
    "readable_wire",
    "shared_key",
    "shown_arguments",
    "shown_handles",
    "shown_texts",
    "token_of",
    "tool_fault",
    "tool_handler",
    "tool_input",
    "unknown_field",
    "with_handles",
]
