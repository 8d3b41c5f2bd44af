"""Names of spans, metrics and attributes: all that the plugin ever emits.

Names with `gen_ai.` and `error.type` are those of OpenTelemetry's semantic conventions; the
meaning of each name is in `docs/reference/telemetry.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

__all__ = ["METRICS", "OTHER", "SCOPE", "SPANS", "Metric"]

#: The name of the tracer and the meter.
SCOPE: Final = "interpstack"

#: The value of an attribute of a metric in place of a name that the host does not know.
OTHER: Final = "_OTHER"

_CALL: Final = (
    "gen_ai.operation.name",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.result",
    "gen_ai.tool.name",
    "interpstack.bridge.name",
    "interpstack.call.answer_bytes",
    "interpstack.call.outcome",
    "interpstack.call.queue_seconds",
    "error.type",
)

_MOVE: Final = (
    "interpstack.engine.name",
    "interpstack.session.image_bytes",
    "interpstack.session.key",
)

#: Attributes of each span. Names in braces stand for a value.
SPANS: Final[Mapping[str, tuple[str, ...]]] = {
    "interpstack.eval": (
        "error.type",
        "interpstack.cell.bytes",
        "interpstack.cell.source",
        "interpstack.engine.name",
        "interpstack.eval.console",
        "interpstack.eval.cpu_seconds",
        "interpstack.eval.crossings",
        "interpstack.eval.outcome",
        "interpstack.eval.replayed",
        "interpstack.eval.requests",
        "interpstack.eval.result",
        "interpstack.eval.state",
        "interpstack.guest.language",
        "interpstack.limit.kind",
        "interpstack.session.key",
    ),
    "interpstack.poll": (
        "interpstack.poll.cpu_seconds",
        "interpstack.poll.number",
        "interpstack.poll.requests",
    ),
    "execute_tool {gen_ai.tool.name}": (*_CALL, "gen_ai.tool.type"),
    "invoke_agent {gen_ai.agent.name}": (*_CALL, "gen_ai.agent.name"),
    "interpstack.import": (
        "error.type",
        "interpstack.call.answer_bytes",
        "interpstack.call.outcome",
        "interpstack.module.name",
    ),
    "interpstack.pause": ("interpstack.pause.calls", "interpstack.pause.reason"),
    "interpstack.resume": ("interpstack.eval.replayed", "interpstack.resume.from"),
    "interpstack.sleep": _MOVE,
    "interpstack.wake": _MOVE,
}


@attrs.frozen
class Metric:
    """A metric.

    Attributes:
        kind: `counter`, `updowncounter` or `histogram`.
        unit: Its unit, in the notation of UCUM.
        attributes: Names of the attributes of its points.
        description: One line.
    """

    kind: str
    unit: str
    attributes: tuple[str, ...]
    description: str


_ENGINE: Final = ("interpstack.engine.name", "interpstack.guest.language")
_TOOL: Final = ("gen_ai.operation.name", "gen_ai.tool.name")

#: All metrics by name.
METRICS: Final[Mapping[str, Metric]] = {
    "interpstack.eval.duration": Metric(
        "histogram",
        "s",
        (*_ENGINE, "interpstack.eval.outcome", "error.type"),
        "Time of evals, from the start to the answer or the pause",
    ),
    "interpstack.eval.cpu_time": Metric(
        "histogram", "s", _ENGINE, "Time for which the code of an eval computed"
    ),
    "interpstack.eval.active": Metric("updowncounter", "{eval}", _ENGINE, "Evals that run now"),
    "interpstack.crossings": Metric(
        "counter", "{crossing}", _ENGINE, "Polls of engines, each a crossing"
    ),
    "interpstack.transferred": Metric(
        "counter",
        "By",
        ("interpstack.transfer.kind",),
        "Bytes of sources and answers to code, and of results and console output from it",
    ),
    "interpstack.call.duration": Metric(
        "histogram",
        "s",
        (*_TOOL, "interpstack.call.outcome", "error.type"),
        "Time of calls of tools and subagents by code, including the wait for a slot",
    ),
    "interpstack.call.queue_time": Metric(
        "histogram", "s", _TOOL, "Time for which calls waited for a slot"
    ),
    "interpstack.call.waiting": Metric(
        "updowncounter", "{call}", (), "Calls that wait for a slot now"
    ),
    "interpstack.sessions": Metric(
        "updowncounter",
        "{session}",
        ("interpstack.engine.name", "interpstack.session.state"),
        "Open sessions by state",
    ),
    "interpstack.session.wakes": Metric(
        "counter", "{session}", ("interpstack.engine.name",), "Sessions that woke"
    ),
    "interpstack.session.move_time": Metric(
        "histogram",
        "s",
        ("interpstack.engine.name", "interpstack.session.move"),
        "Time that it took to wake or hibernate sessions",
    ),
    "interpstack.limit.hits": Metric(
        "counter", "{hit}", ("interpstack.limit.kind",), "Limits that evals and calls reached"
    ),
}
