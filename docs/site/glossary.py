"""Tooltips: the glossary's words are explained wherever a page uses them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

GLOSSARY = Path(__file__).parents[1] / "reference" / "glossary.md"
#: Words that pages explain themselves, or use in their everyday meaning, too.
_PLAIN = {"call", "cell", "engine", "image", "request", "stack", "turn", "values"}
_ROW = re.compile(r"^\| (?P<word>[a-z ]+) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Append the abbreviations that the extension `abbr` turns into tooltips."""
    if Path(page.file.abs_src_path) == GLOSSARY:
        return markdown
    return f"{markdown}\n\n{tooltips(GLOSSARY.read_text('utf-8'))}\n"


def tooltips(glossary: str) -> str:
    """One abbreviation for each word of the glossary, and for its plural."""
    lines = []
    for row in _ROW.finditer(glossary):
        if row["word"] not in _PLAIN:
            forms = (row["word"], f"{row['word']}s")
            lines += [f"*[{form}]: {row['meaning']}" for form in forms]
    return "\n".join(lines)
