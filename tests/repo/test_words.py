"""Names that were replaced occur nowhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

#: Names of earlier drafts, with the stored names that may still contain them.
_REPLACED = re.compile(
    r"\b(UnreadableLedger|CellLedger|EvalLedger|LedgerStore|open_ledger|Outbox|Residents"
    r"|wind_down|read_kept)\b|(?<!interpreter_)(?<![A-Za-z])[Ll]edgers?\b"
)


def replaced_names(root: Path) -> list[str]:
    """Lines of code and pages with a name that was replaced."""
    files = [
        path
        for folder in ("src", "plugins", "tests", "docs")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".py", ".md") and path.name != Path(__file__).name
    ]
    return [
        f"{path.relative_to(root).as_posix()}:{number}: {line.strip()}"
        for path in [*files, root / "README.md"]
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if _REPLACED.search(line)
    ]


def test_replaced_names_are_gone(root: Path) -> None:
    assert replaced_names(root) == []


def test_a_replaced_name_is_noticed(broken: Any) -> None:
    copy = broken(
        {
            "src/interpstack/slots.py": "LIMIT = 1  # of a ledger\n",
            "docs/reference/hooks.md": "Raises `UnreadableLedger`.\n",
        }
    )
    assert [line.partition(":")[0] for line in replaced_names(copy)] == [
        "src/interpstack/slots.py",
        "docs/reference/hooks.md",
    ]
