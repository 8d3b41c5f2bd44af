"""Traces and metrics of evals, their calls and sessions, through OpenTelemetry.

The plugin needs only the OpenTelemetry API. Without an SDK in the process it makes no spans and
no measurements. The names for hosts are in `interpstack_otel.api`.
"""
