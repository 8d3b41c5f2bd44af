"""Public names of the plugin."""

from __future__ import annotations

from interpstack_otel.logs import TraceIds
from interpstack_otel.outgoing import trace_environment, trace_headers
from interpstack_otel.payloads import Payloads
from interpstack_otel.plugin import OpenTelemetry

__all__ = ["OpenTelemetry", "Payloads", "TraceIds", "trace_environment", "trace_headers"]
