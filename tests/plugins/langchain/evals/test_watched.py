"""Console output of an eval that may be put aside."""

from __future__ import annotations

from contextlib import nullcontext

from interpstack_durable.api import Look, Shown
from interpstack_langchain.evals.watched import Watched


def test_only_new_output_is_shown() -> None:
    shown = Shown()
    first = Watched(Look(1), nullcontext(), shown)
    first.heard += ["a", "\nb"]
    assert first.new_console() == "a\nb"
    second = Watched(Look(1), nullcontext(), shown)
    second.heard += ["a\nb\nc"]
    assert second.new_console() == "c"
