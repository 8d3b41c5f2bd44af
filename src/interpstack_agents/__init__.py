"""Parts that every adapter of an agent framework needs."""

from __future__ import annotations

from interpstack_agents.eval_queue import EvalQueue, QueuePosition
from interpstack_agents.feeds.feed import Feed
from interpstack_agents.feeds.subscription import (
    ConsoleText,
    FeedItem,
    Missed,
    ProgressEvent,
    Subscription,
)
from interpstack_agents.journals import JournalBase, Notes
from interpstack_agents.live_session import LiveSession, SavedState
from interpstack_agents.live_sessions import LiveSessions
from interpstack_agents.offers import OfferBuilder
from interpstack_agents.persistence import (
    Persistence,
    RecordRejected,
    persistence_mode,
    persistence_modes,
)
from interpstack_agents.presets import Preset
from interpstack_agents.progress import ProgressEmitter
from interpstack_agents.records import Record, are_records, joined
from interpstack_agents.tool_bridges import (
    as_single_field,
    has_many_parts,
    plain_input,
    tool_handler,
)
from interpstack_agents.tool_fields import unknown_field
from interpstack_agents.tool_search import found_tools

__all__ = [
    "ConsoleText",
    "EvalQueue",
    "Feed",
    "FeedItem",
    "JournalBase",
    "LiveSession",
    "LiveSessions",
    "Missed",
    "Notes",
    "OfferBuilder",
    "Persistence",
    "Preset",
    "ProgressEmitter",
    "ProgressEvent",
    "QueuePosition",
    "Record",
    "RecordRejected",
    "SavedState",
    "Subscription",
    "are_records",
    "as_single_field",
    "found_tools",
    "has_many_parts",
    "joined",
    "persistence_mode",
    "persistence_modes",
    "plain_input",
    "tool_handler",
    "unknown_field",
]
