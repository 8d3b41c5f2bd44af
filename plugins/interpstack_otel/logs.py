"""Lines of the log on runs that are left and go on, and the ids of traces on all lines.

The logger `interpstack.evals` gets a line at `INFO` when a run was left, as at a pause, and when an
eval goes on that was left. The kernel logs how cells end.
"""

from __future__ import annotations

import logging
from typing import Final

from opentelemetry import trace

__all__ = ["TraceIds", "log_left", "log_resumed", "logs_runs"]

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


def logs_runs() -> bool:
    """Whether anything is logged of runs that are left and go on."""
    return _log.isEnabledFor(logging.INFO)


def log_left(session: str, error: BaseException) -> None:
    """Log that an exception for the host, such as a pause, ended a run."""
    _log.info("session %s: an eval was stopped by %s", session, type(error).__name__)


def log_resumed(session: str) -> None:
    """Log that an eval continues that was stopped before."""
    _log.info("session %s: an eval continues that was stopped before", session)


def shown_name(name: str) -> str:
    """The name of an error, which a guest may have chosen, in one line of printable characters."""
    return "".join(c for c in name[:_NAME_CHARS] if c.isprintable()) or "an error"
