"""The work of isolated agents, from the records of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from interpstack_workflows.events.tree import preview
from interpstack_workflows.steps.entries import Entry

__all__ = ["recorded_patches"]

_FIELDS: Final = ("patch", "base", "files", "branch")


def recorded_patches(entries: Iterable[Entry]) -> Iterator[dict[str, Any]]:
    """Yield the work of each isolated agent that changed files, in the order of their ends.

    Args:
        entries: The records of a run.
    """
    for entry in entries:
        for step in entry.settled:
            if step.kind != "agent" or step.started:
                continue
            product = step.value if step.ok else (step.error or {}).get("data")
            inputs = json.loads(step.signature) if step.signature else {}
            options = inputs.get("options") or {}
            if options.get("isolation") is None or not isinstance(product, Mapping):
                continue
            if product.get("files"):
                title = preview(options.get("label") or inputs.get("prompt", ""))
                found = {name: product[name] for name in _FIELDS if name in product}
                yield {"title": title, "ok": step.ok, **found}
