"""Replayed evals, made by hand."""

from __future__ import annotations

from typing import Any

import attrs
from recorded_steps import Thread, call

from interpstack_inspect.api import PauseEvent
from interpstack_langchain.replay.recorded_evals import recorded_evals
from interpstack_langchain.replay.replayer import Replay
from interpstack_langchain.replay.timeline import RecordedCall, Timeline
from interpstack_langchain.replay.views import EvalView

PAID = RecordedCall(
    id=1,
    bridge="tools.pay",
    input='[{"to":"Ann"}]',
    asked=0.0,
    step=1,
    answered=1.25,
    answer='"receipt Ann"',
    decisions=["approve"],
)
OPEN = RecordedCall(id=2, bridge="tools.wait", input="[3]", asked=1.25)
KEPT = RecordedCall(id=3, bridge="tools.wait", input="[4]", asked=1.25, answer="4", kept=True)
PAUSED = PauseEvent(number=1, at=1.25, waits_for=["approval of pay", "an answer"], resumed=False)


def shown(
    *events: Any, chars: int = 60, code: str = "1 + 1\n", answer: str | None = "2", **replay: Any
) -> EvalView:
    """The third eval of a thread, in a subgraph."""
    thread = Thread()
    saver: Any = thread
    for source in ("0", "0", code):
        thread.step(call("c", source), namespace="tools:1")
    found = recorded_evals(saver, "t", ["eval"])[-1]
    fields = {"status": "ended", "engine": "quickjs", "language": "javascript", "text": "2"}
    return EvalView(
        found=attrs.evolve(found, answer=answer),
        timeline=Timeline(began=1000.0, steps=1, events=events),
        replay=Replay(**{**fields, **replay}),
        chars=chars,
    )
