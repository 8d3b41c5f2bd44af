"""Readers can reach every page, and the reference has a page for every public module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from public_modules import public_modules

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_NO_PAGES = ("changelog.d", "examples", "site")
#: Modules with a page of signatures; the page on hooks has those of the one that exports hooks.
_SHOWN = public_modules(ROOT) - {"interpstack_persistence.api"}


def pages(docs: Path) -> set[str]:
    """All pages, as paths below the folder of the documentation."""
    found = {path.relative_to(docs) for path in docs.rglob("*.md")}
    return {path.as_posix() for path in found if path.parts[0] not in _NO_PAGES}


def navigation() -> list[str]:
    config = yaml.safe_load((DOCS / "site" / "mkdocs.yml").read_text("utf-8"))
    return list(_leaves(config["nav"]))


def _leaves(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
        return
    for inner in entry.values() if isinstance(entry, dict) else entry:
        yield from _leaves(inner)


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(navigation()) == sorted(pages(DOCS))


def test_every_public_module_has_a_page_of_signatures() -> None:
    expected = {f"reference/api/{name}.md" for name in _SHOWN}
    assert {page for page in pages(DOCS) if page.startswith("reference/api/")} == expected
    for page in expected:
        name = Path(page).stem
        assert (DOCS / page).read_text("utf-8") == f"# {name}\n\n::: {name}\n"


def test_every_page_is_named_where_a_reader_begins() -> None:
    text = (DOCS / "index.md").read_text("utf-8")
    tables = text.partition("| You want to | Read |")[2]
    named = {path for path in pages(DOCS) if f"]({path})" in tables}
    assert sorted(pages(DOCS) - named - {"index.md"} - _listed_in_the_api_page()) == []


def _listed_in_the_api_page() -> set[str]:
    """Pages of signatures, which the API page names, whatever page names that."""
    text = (DOCS / "reference" / "api.md").read_text("utf-8")
    return {f"reference/{path}" for path in _api_pages() if f"]({path})" in text}


def _api_pages() -> Iterator[str]:
    yield from (f"api/{name}.md" for name in _SHOWN)
