"""Public names of the plugin."""

from __future__ import annotations

try:
    from interpstack_otel.logs import TraceIds
    from interpstack_otel.outgoing import trace_environment, trace_headers
    from interpstack_otel.payloads import Payloads
    from interpstack_otel.plugin import OpenTelemetry
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"interpstack_otel needs {error.name}; install the extra with: "
        "pip install 'interpstack[otel]'",
        name=error.name,
    ) from error

__all__ = ["OpenTelemetry", "Payloads", "TraceIds", "trace_environment", "trace_headers"]
