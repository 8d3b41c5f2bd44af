"""Output of a suspended eval that the model has not seen."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from interpstack import Outcome
from interpstack_display.api import Attachment
from interpstack_durable.api import SeenOutput, StillRunning, TimeSlice
from interpstack_langchain.evals.watched import Watched


def watched(shown: SeenOutput, *heard: str) -> Watched:
    return Watched(TimeSlice(1), nullcontext(), shown, [*heard])


def test_only_new_output_is_shown() -> None:
    shown, still = SeenOutput(), StillRunning(())
    assert watched(shown, "a", "\nb").suspended(still).console == "a\nb"
    assert watched(shown, "a\nb\nc").suspended(still).console == "c"
    assert watched(shown).unseen(Outcome(text="1", console="a\nb\nc\nd")) == Outcome(
        text="1", console="d"
    )


def test_each_image_is_shown_once_and_other_objects_stay() -> None:
    shown, note = SeenOutput(), ValueError("of a listener")
    one, two = (Attachment(b"GIF89a" + bytes([n]), "image/gif") for n in (1, 2))
    seen: list[Any] = [
        watched(shown).suspended(StillRunning((), [one])).attachments,
        watched(shown).suspended(StillRunning((), [one])).attachments,
        watched(shown).unseen(Outcome(attachments=(one, note, two))).attachments,
    ]
    assert seen == [(one,), (), (note, two)]
    assert shown.attached == 2
