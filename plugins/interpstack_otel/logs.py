"""Lines of the log that an operator needs, and the ids of traces on all lines.

The logger `interpstack.evals` gets a warning when variables were lost or an engine broke, and a
line at `INFO` when a limit ended an eval, and when an eval paused or was resumed.
"""

from __future__ import annotations

import logging
from typing import Final

from opentelemetry import trace

from interpstack import Outcome

__all__ = ["TraceIds", "log_left", "log_outcome", "log_resumed"]

_log = logging.getLogger("interpstack.evals")
_NAME_CHARS: Final = 100


class TraceIds(logging.Filter):
    """A filter for handlers that adds the ids of the current trace to each record.

    The attributes `otelTraceID` and `otelSpanID` hold them as hexadecimal digits, `0` outside of a
    trace; `otelTraceSampled` is True or False. OpenTelemetry's own instrumentation of `logging`
    uses the same names.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the ids; every record passes."""
        context = trace.get_current_span().get_span_context()
        known = context.is_valid
        ids = {
            "otelTraceID": trace.format_trace_id(context.trace_id) if known else "0",
            "otelSpanID": trace.format_span_id(context.span_id) if known else "0",
            "otelTraceSampled": context.trace_flags.sampled,
        }
        vars(record).update(ids)
        return True


def log_outcome(session: str, outcome: Outcome, limit: str | None) -> None:
    """Log the end of an eval, if an operator must know of it.

    Args:
        session: Key of the session.
        outcome: The outcome, whose texts are not logged: they may be the guest's.
        limit: The kind of the limit that ended the eval, if one did.
    """
    error = outcome.error
    if outcome.state == "lost" or (error is not None and error.name == "EngineFailure"):
        name = "" if error is None else shown_name(error.name)
        _log.warning("session %s: an eval ended with %s; state: %s", session, name, outcome.state)
    elif limit:
        seconds = outcome.usage.wall_seconds
        _log.info("session %s: the limit %r ended an eval after %.3f s", session, limit, seconds)


def log_left(session: str, error: BaseException) -> None:
    """Log that an exception for the host, such as a pause, ended a run."""
    _log.info("session %s: an eval was left because of %s", session, type(error).__name__)


def log_resumed(session: str) -> None:
    """Log that an eval goes on that was left before."""
    _log.info("session %s: an eval goes on that was left before", session)


def shown_name(name: str) -> str:
    """The name of an error, which a guest may have chosen, in one line of printable characters."""
    return "".join(c for c in name[:_NAME_CHARS] if c.isprintable()) or "an error"
