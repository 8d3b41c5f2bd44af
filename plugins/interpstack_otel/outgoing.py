"""The trace context of the current code, to be passed on to other services and processes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from opentelemetry import propagate

__all__ = ["trace_environment", "trace_headers"]


def trace_headers() -> dict[str, str]:
    """Headers that carry the current trace to another service.

    The names are those of the process's propagators, by default `traceparent`, `tracestate` and
    `baggage` (W3C). The same names belong in the `_meta` of an MCP request. A handler of a bridge
    gets the headers of its own call.

    Returns:
        The headers; empty outside of a trace.
    """
    headers: dict[str, str] = {}
    propagate.inject(headers)
    return headers


def trace_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment variables for a new process that continues the current trace.

    Args:
        environment: The variables to add to; by default, those of this process.

    Returns:
        The variables, with the headers as `TRACEPARENT`, `TRACESTATE` and `BAGGAGE`.
    """
    base = os.environ if environment is None else environment
    names = {name: name.upper().replace("-", "_") for name in propagate.get_global_textmap().fields}
    kept = {name: value for name, value in base.items() if name not in names.values()}
    return {**kept, **{names.get(name, name): value for name, value in trace_headers().items()}}
