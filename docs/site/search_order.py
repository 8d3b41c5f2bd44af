"""The order of search results: pages that explain come before pages of signatures."""

from __future__ import annotations

from typing import Any

#: The weight of a page of signatures; that of other pages is 1.
_WEIGHT = 0.3


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> None:
    """Let a page of signatures count less in a search."""
    if page.file.src_uri.startswith("reference/api/"):
        page.meta.setdefault("search", {})["boost"] = _WEIGHT
