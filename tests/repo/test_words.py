"""Docstrings begin with a noun or a verb, and names that were replaced occur nowhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parsed import nodes

#: Pronouns and question words: a summary that begins with one does not name its subject.
_NAMELESS = re.compile(
    r"(it|its|this|that|those|these|they|what|whatever|how|where|why|who|whoever|nobody|somebody)\b",
    re.IGNORECASE,
)
#: Names of earlier drafts, with the stored names that may still contain them.
_REPLACED = re.compile(
    r"\b(UnreadableLedger|CellLedger|EvalLedger|LedgerStore|open_ledger|Outbox|Residents"
    r"|wind_down|read_kept)\b|(?<!interpreter_)(?<![A-Za-z])[Ll]edgers?\b"
)
_SOURCES = ("src", "plugins", "docs/examples")


def _docstrings(path: Path) -> Iterator[tuple[int, str]]:
    for node in nodes(path):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def nameless_summaries(root: Path) -> list[str]:
    """Docstrings whose first word is a pronoun or a question word."""
    return [
        f"{path.relative_to(root).as_posix()}:{line}: {text.splitlines()[0]}"
        for folder in _SOURCES
        for path in sorted((root / folder).rglob("*.py"))
        for line, text in _docstrings(path)
        if _NAMELESS.match(text)
    ]


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


def test_summaries_name_their_subject(root: Path) -> None:
    assert nameless_summaries(root) == []


def test_replaced_names_are_gone(root: Path) -> None:
    assert replaced_names(root) == []


def test_both_are_noticed(broken: Any) -> None:
    copy = broken(
        {
            "src/interpstack/slots.py": '"""What waits."""\n\nLIMIT = 1  # of a ledger\n',
            "docs/reference/hooks.md": "Raises `UnreadableLedger`.\n",
        }
    )
    assert nameless_summaries(copy) == ["src/interpstack/slots.py:1: What waits."]
    assert [line.partition(":")[0] for line in replaced_names(copy)] == [
        "src/interpstack/slots.py",
        "docs/reference/hooks.md",
    ]
