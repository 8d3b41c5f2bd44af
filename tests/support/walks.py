"""The walks of the architecture page: functions and modules, in the order in which code passes."""

from __future__ import annotations

import re
from pathlib import Path

_ROW = re.compile(r"^\| `(?P<function>[\w.]+)` \| `(?P<path>[\w/]+\.py)` \|", re.MULTILINE)


def walks(root: Path) -> dict[str, list[tuple[str, str]]]:
    """Functions and modules of each walk, by its heading."""
    page = (root / "docs/explanation/architecture.md").read_text("utf-8")
    parts = re.split(r"^## ", page, flags=re.MULTILINE)
    found = {part.partition("\n")[0]: _ROW.findall(part) for part in parts}
    return {title: rows for title, rows in found.items() if title.startswith("The walk of ")}
