"""The page: replays as HTML in which everything from a guest stays text."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from interpstack import ConfigurationError
from interpstack_inspect.api import (
    BAR_WIDTH,
    computed,
    highlighted,
    last_second,
    record_style,
    templates,
    timeline_rows,
)
from interpstack_langchain.replay.views import EvalView

__all__ = ["check_page", "write_page"]

_PACKAGE: Final = "interpstack_langchain.replay.page"


def check_page(path: Path) -> None:
    """Make sure, before anything runs, that a page can be made and put there.

    Raises:
        ConfigurationError: The folder does not exist, or a package is missing.
    """
    if not path.parent.is_dir():
        raise ConfigurationError(f"--html {str(path)!r}: there is no folder {str(path.parent)!r}")
    _template()


def write_page(path: Path, thread: str, shown: Sequence[EvalView]) -> None:
    """Write replays of a thread as one HTML file.

    Args:
        path: The file; one that is there is replaced.
        thread: Names the thread.
        shown: Its replayed evals.

    Raises:
        ConfigurationError: The file cannot be written, or a package is missing.
    """
    style = record_style()
    page = _template().render(
        thread=thread,
        evals=[_eval(one) for one in shown],
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        width=BAR_WIDTH,
    )
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise ConfigurationError(f"--html {str(path)!r} cannot be written: {error}") from error


def _eval(one: EvalView) -> dict[str, Any]:
    data = one.data(code=True)
    events = one.timeline.shown()
    computing = one.timeline.computing
    rows = list(timeline_rows(events, computing, chars=one.chars))
    answer = data["recorded_answer"]
    return {
        "number": data["eval"],
        "facts": {
            "status": data["status"],
            "engine": data["engine"],
            "step": data["step_began"],
            "call": data["tool_call_id"],
            **({"graph": data["namespace"]} if data["namespace"] else {}),
        },
        "status": data["status"].replace(" ", "-"),
        "code": highlighted(data["code"].strip("\n"), data["language"]),
        "rows": rows,
        "computed": computed(computing),
        "seconds": last_second(events, computing),
        "text": data["text"],
        "recorded": None if answer == data["text"] else answer,
        "earlier_answers": [(call.tool, call.answer) for call in _earlier_calls(one)],
        "notes": data["notes"],
    }


def _earlier_calls(one: EvalView) -> Sequence[Any]:
    return one.found.cell.before if one.found.cell else ()


def _template() -> Any:
    """The template.

    Raises:
        ConfigurationError: The package for templates is missing.
    """
    made = templates(_PACKAGE, needed_by="--html", extra="replay")
    return made.get_template("replay.html.jinja")
