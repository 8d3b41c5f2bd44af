"""The plugin `otel` with exporters in memory, and a collector of traces on the loopback address."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from interpstack_otel.api import OpenTelemetry

__all__ = ["Collector", "Traces", "collecting"]


class Traces:
    """The plugin, and all that came out of it."""

    def __init__(self, **settings: Any) -> None:
        self.spans_in_memory = InMemorySpanExporter()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans_in_memory))
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider([self.reader])
        self.plugin = OpenTelemetry(
            tracer_provider=self.tracers, meter_provider=self.meters, **settings
        )

    def spans(self, start: str = "") -> list[ReadableSpan]:
        """Ended spans whose names begin so, in the order in which they ended."""
        return [one for one in self.spans_in_memory.get_finished_spans() if _named(one, start)]

    def one(self, start: str) -> ReadableSpan:
        """The only span whose name begins so."""
        (span,) = self.spans(start)
        return span

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        """Attributes and values of a metric; of a histogram, the numbers of measurements."""
        return [point for found, point in self.all_points() if found == name]

    def all_points(self) -> list[tuple[str, tuple[dict[str, Any], Any]]]:
        """The points of all metrics, by the metric's name."""
        data = self.reader.get_metrics_data()
        scopes = [s for r in (data.resource_metrics if data else ()) for s in r.scope_metrics]
        return [
            (metric.name, (dict(point.attributes), getattr(point, "value", None) or _count(point)))
            for scope in scopes
            for metric in scope.metrics
            for point in metric.data.data_points
        ]


def _named(span: ReadableSpan, start: str) -> bool:
    return span.name.startswith(start)


def _count(point: Any) -> Any:
    return getattr(point, "count", 0)


@attrs.define
class Collector:
    """A collector that speaks OTLP over HTTP.

    Attributes:
        url: Its address.
        spans: The spans it got, as OTLP has them.
    """

    url: str
    spans: list[Any] = attrs.field(factory=list)

    def named(self, start: str) -> list[Any]:
        """Spans whose names begin so."""
        return [span for span in self.spans if span.name.startswith(start)]


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    collector.spans.extend(scope.spans)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Write nothing to the output of the tests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
