"""The command that builds the site fails on every link, anchor and name that leads nowhere."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown import Markdown

import interpstack

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Pages that are not part of the site, by the folder from which their links lead.
_OUTSIDE = {
    **{path: path.parent for path in sorted(ROOT.glob("*.md"))},
    **{path: path.parent for path in sorted((ROOT / ".github").rglob("*.md"))},
    **{path: path.parent for path in sorted((DOCS / "examples").rglob("*.md"))},
    **dict.fromkeys(sorted((DOCS / "changelog.d").glob("*.*.md")), DOCS),
}
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
_NAMED_PAGE = re.compile(r"\bdocs/[\w./-]+\.md\b")

_GOOD = {
    "index.md": "# Start\n\n[Another page](other.md#a-part), [`that`][written.that]\n",
    "other.md": "# Other\n\n## A part\n\n::: written\n",
    "written.py": '"""A module."""\n\ndef that(x: int) -> int:\n    """Add one.\n\n'
    '    Args:\n        x: A number.\n    """\n',
}


def build_command() -> list[str]:
    """The command of the env `docs` that builds the site."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string((ROOT / "tox.ini").read_text("utf-8"))
    lines = parser["testenv:docs"]["commands"].replace("{/}", "/").splitlines()
    (command,) = [line for line in lines if line.startswith("mkdocs build ")]
    return shlex.split(command)


def build(
    folder: Path, files: dict[str, str], nav: tuple[str, ...] = ("index.md", "other.md")
) -> subprocess.CompletedProcess[str]:
    """Build a small site with the command and the configuration of the large one."""
    pages = folder / "pages"
    pages.mkdir()
    for name, text in files.items():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text(text, "utf-8")
    config: dict[str, Any] = yaml.safe_load((DOCS / "site" / "mkdocs.yml").read_text("utf-8"))
    config |= {"docs_dir": "pages", "site_dir": "site", "nav": [*nav]}
    config["hooks"] = [str(DOCS / "site" / name) for name in config["hooks"]]
    del config["extra_css"]
    (mkdocstrings,) = [one["mkdocstrings"] for one in config["plugins"] if isinstance(one, dict)]
    python = mkdocstrings["handlers"]["python"]
    python["paths"] = ["pages"]
    python["options"]["extensions"] = [str(DOCS / "site" / "attrs_signatures.py")]
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config), "utf-8")
    words = build_command()
    words[words.index("-f") + 1] = str(folder / "mkdocs.yml")
    words[words.index("-d") + 1] = str(folder / "site")
    return subprocess.run(
        [sys.executable, "-m", *words],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_a_site_without_a_fault_is_built(tmp_path: Path) -> None:
    done = build(tmp_path, _GOOD)
    assert done.returncode == 0, done.stdout
    page = (tmp_path / "site" / "other.html").read_text("utf-8")
    assert f"interpstack {interpstack.__version__}" in page


@pytest.mark.parametrize("repository", ["someone/interpstack", ""])
def test_a_site_that_a_workflow_builds_links_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: str
) -> None:
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://forge.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", repository)
    done = build(tmp_path, _GOOD)
    assert done.returncode == 0, done.stdout
    page = (tmp_path / "site" / "index.html").read_text("utf-8")
    link = 'href="https://forge.example/someone/interpstack"'
    assert (link in page, "Repository someone/interpstack" in page) == (bool(repository),) * 2
    assert "md-source" not in page  # which asks another host


def test_words_of_the_glossary_are_explained_on_other_pages(tmp_path: Path) -> None:
    page = "# Start\n\nTwo realms, one realm, `a realm`. [Another](other.md#a-part)\n"
    done = build(tmp_path, {**_GOOD, "index.md": page})
    assert done.returncode == 0, done.stdout
    shown = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert 'Two <abbr title="one live global scope in an engine">realms</abbr>, one realm,' in shown
    assert "<code>a realm</code>" in shown


def test_guides_are_found_before_signatures(tmp_path: Path) -> None:
    signatures = "reference/api/written.md"
    files = {**_GOOD, "other.md": "# Other\n\n## A part\n", signatures: "# W\n\n::: written\n"}
    done = build(tmp_path, files, ("index.md", "other.md", signatures))
    assert done.returncode == 0, done.stdout
    index = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text("utf-8"))
    boosts = {one["location"].partition("#")[0]: one.get("boost", 1) for one in index["docs"]}
    assert boosts["reference/api/written.html"] < boosts["other.html"]


def test_every_kind_of_fault_in_a_page_fails_the_build(tmp_path: Path) -> None:
    faults = {
        "[a](none.md)": "a link 'none.md'",
        "[a](other.md#none)": "a link 'other.md#none'",
        "[a](#none)": "a link '#none'",
        "[a](/other.md)": "an absolute link '/other.md'",
        "[a](other)": "an unrecognized relative link 'other'",
        "![a](none.svg)": "a link 'none.svg'",
        "[a][written.none]": "cross-reference target 'written.none'",
    }
    undocumented = '"""A module."""\n\ndef that(x: int) -> int:\n    """Add.\n\n    Args:\n'
    files = {
        "index.md": "# Start\n\n" + "\n\n".join(faults) + "\n",
        "written.py": undocumented + '        y: Not a parameter.\n    """\n',
        "left-out.md": "# Left out\n",
    }
    done = build(tmp_path, {**_GOOD, **files})
    found = [*faults.values(), "Parameter 'y' does not appear", "left-out.md"]
    missing = [fault for fault in found if fault not in done.stdout.replace('"', "'")]
    assert (done.returncode, missing) == (1, []), done.stdout


@pytest.mark.parametrize("fault", ["[a](none.md)", "[a](other.md#none)"])
def test_one_broken_link_or_anchor_fails_the_build(tmp_path: Path, fault: str) -> None:
    done = build(tmp_path, {**_GOOD, "index.md": f"# Start\n\n{fault}\n"})
    assert done.returncode == 1, done.stdout
    assert "Aborted with 1 warnings in strict mode" in done.stdout


def broken_links(page: Path, base: Path) -> list[str]:
    """Links of a page outside the site that lead to no file, or to no heading of its page."""
    found = []
    for path, anchor in _LINK.findall(page.read_text("utf-8")):
        target = base / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            found.append(f"{path}#{anchor}" if anchor else path)
    return found


def _anchors(page: Path) -> set[str]:
    made = Markdown(extensions=["toc", "fenced_code"])
    made.convert(page.read_text("utf-8"))
    tokens = list(made.toc_tokens)  # type: ignore[attr-defined]
    for token in tokens:  # grows while it is read
        tokens += token["children"]
    return {token["id"] for token in tokens}


@pytest.mark.parametrize("page", _OUTSIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_pages_outside_the_site_lead_somewhere(page: Path) -> None:
    assert broken_links(page, _OUTSIDE[page]) == []


def test_a_link_outside_the_site_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# There\n\n## A part\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](none.md) [b](there.md) [c](there.md#a-part) [d](there.md#none) [e](#none) "
        "[f](https://example.com/none)\n",
        "utf-8",
    )
    assert broken_links(page, tmp_path) == ["none.md", "there.md#none", "#none"]


def named_pages(root: Path) -> dict[str, set[str]]:
    """Pages that code and its messages name, by the files that do."""
    found: dict[str, set[str]] = {}
    for folder in ("src", "plugins"):
        for file in (root / folder).rglob("*.py"):
            names = set(_NAMED_PAGE.findall(file.read_text("utf-8")))
            if names:
                found[file.relative_to(root).as_posix()] = names
    return found


def test_pages_that_code_names_are_there() -> None:
    found = named_pages(ROOT)
    assert found
    missing = {
        file: absent
        for file, names in found.items()
        if (absent := {name for name in names if not (ROOT / name).exists()})
    }
    assert missing == {}
