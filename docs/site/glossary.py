"""Tooltips: the glossary's words are explained wherever a page uses them."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

GLOSSARY = Path(__file__).parents[1] / "reference" / "glossary.md"
#: Words that pages explain themselves, or use in their everyday meaning, too.
_PLAIN = {"call", "cell", "engine", "image", "request", "stack", "turn", "values"}
_TOOLTIP = re.compile(r'<abbr title="(?P<meaning>[^"]*)">(?P<word>[^<]*)</abbr>')
_ROW = re.compile(r"^\| (?P<word>[a-z ]+) \| (?P<meaning>[^|]+) \|$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Append the abbreviations that the extension `abbr` turns into tooltips."""
    if Path(page.file.abs_src_path) == GLOSSARY:
        return markdown
    return f"{markdown}\n\n{tooltips(GLOSSARY.read_text('utf-8'))}\n"


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Keep the tooltip of the first use of each word; a page full of dots is hard to read."""
    seen: set[str] = set()

    def shown(found: re.Match[str]) -> str:
        first = found["meaning"] not in seen
        seen.add(found["meaning"])
        return found[0] if first else found["word"]

    return _TOOLTIP.sub(shown, html)


@cache
def tooltips(glossary: str) -> str:
    """One abbreviation for each word of the glossary, and for its plural."""
    lines = []
    for row in _ROW.finditer(glossary):
        if row["word"] not in _PLAIN:
            forms = (row["word"], f"{row['word']}s")
            meaning = row["meaning"].replace("`", "")
            lines += [f"*[{form}]: {meaning}" for form in forms]
    return "\n".join(lines)
