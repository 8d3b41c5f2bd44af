"""What lies where, and what no file may contain."""

from __future__ import annotations

import ast
import configparser
import fnmatch
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from parsed import nodes

_TOP = {
    ".ci",
    ".editorconfig",
    ".git",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "LICENSE",
    "README.md",
    "docs",
    "plugins",
    "pyproject.toml",
    "src",
    "tests",
    "tox.ini",
}
_TEXT = {
    ".cfg",
    ".ini",
    ".jinja",
    ".js",
    ".json",
    ".md",
    ".mjs",
    ".py",
    ".toml",
    ".ts",
    ".txt",
    ".yml",
}
#: Written by tools, or by other people.
_GENERATED = {
    "formatter.bundle.js",
    "guest.bundle.js",
    "intl.LICENSES.txt",
    "package-lock.json",
    "web.js",
    "web.LICENSES.txt",
}
#: What no file may say: what is unfinished, where it was made, and how.
_FORBIDDEN = {
    "an open task": re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b"),
    "a path of somebody's machine": re.compile(
        r"(?<![\w.:/>-])/(?:home|Users|root|work|tmp/lab)/[\w.-]"
    ),
    "an index of packages": re.compile(r"--(?:extra-)?index-url|\bPIP_INDEX|registry\.npmjs\.org"),
    "how it was written": re.compile(
        r"(?i)co-authored-by|\b(?:written|generated|authored|made) (?:by|with) an? "
        r"(?:ai|llm|language model|agent)\b"
    ),
}
_PROMPT_LINES = 3
_PROMPT_CHARS = 400
_FRAGMENT = re.compile(r"[\w+-]+(\.\d+)?\.(added|changed|fixed|removed|deprecated)(\.\d+)?\.md")


def ignored(root: Path) -> list[str]:
    lines = (root / ".gitignore").read_text("utf-8").splitlines()
    return [line.rstrip("/") for line in lines if line and not line.startswith("#")]


def files(root: Path) -> Iterator[Path]:
    """Text files that belong to the repository."""
    patterns = [*ignored(root), ".git"]

    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if any(fnmatch.fnmatch(path.name, pattern) for pattern in patterns):
                continue
            if path.is_dir():
                yield from walk(path)
            elif path.suffix in _TEXT or path.parent.name == ".ci":
                yield path

    return walk(root)


def top_violations(root: Path) -> list[str]:
    """Entries at the top of the repository that do not belong there."""
    patterns = ignored(root)
    return [
        f"{path.name} does not belong at the top"
        for path in sorted(root.iterdir())
        if path.name not in _TOP and not any(fnmatch.fnmatch(path.name, p) for p in patterns)
    ]


def word_violations(root: Path) -> list[str]:
    """Lines that contain what no file may."""
    found = []
    for path in files(root):
        if path.name in _GENERATED or path.name == Path(__file__).name:
            continue
        place = path.relative_to(root).as_posix()
        found += [f"{place}:{number}: {what}" for number, what in _said(path.read_text("utf-8"))]
    return found


@cache
def _said(text: str) -> list[tuple[int, str]]:
    """Lines of a text that contain what no file may, and what that is."""
    forbidden = {what: pattern for what, pattern in _FORBIDDEN.items() if pattern.search(text)}
    return [
        (number, what)
        for number, line in enumerate(text.splitlines() if forbidden else (), 1)
        for what, pattern in forbidden.items()
        if pattern.search(line)
    ]


def name_violations(root: Path) -> list[str]:
    """Modules whose name says nothing."""
    empty = {"utils.py", "util.py", "helpers.py", "helper.py", "misc.py", "common.py"}
    return [path.relative_to(root).as_posix() for path in files(root) if path.name in empty]


def prompt_violations(root: Path) -> list[str]:
    """Long texts in the code of plugins; prompts belong in `prompt.md`."""
    found = []
    for path in sorted((root / "plugins").rglob("*.py")):
        if path.name == "conformance.py":
            continue  # guest code for the kit, which no model reads
        skipped = set(_no_prompts(path))
        for node in nodes(path):
            if id(node) in skipped or not isinstance(node, (ast.Constant, ast.JoinedStr)):
                continue
            text = _text(node).strip("\n")
            seen = text.count("\n") >= _PROMPT_LINES or len(text) > _PROMPT_CHARS
            if seen and (node.end_lineno or 0) - node.lineno >= _PROMPT_LINES:
                found.append(f"{path.relative_to(root).as_posix()}:{node.lineno}: a long text")
    return found


def _no_prompts(path: Path) -> Iterator[int]:
    """Docstrings, and parts of f-strings, which count as a whole."""
    for node in nodes(path):
        if isinstance(node, ast.Expr):
            yield id(node.value)
        elif isinstance(node, ast.JoinedStr):
            yield from (id(part) for part in node.values)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_text, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def tox_violations(root: Path) -> list[str]:
    """Environments of tox that do not say what they do, or that the docs do not list."""
    path = root / "tox.ini"
    if not path.exists():
        return ["there is no tox.ini"]
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(path.read_text("utf-8"))
    page = root / "docs" / "contributing.md"
    seen = page.read_text("utf-8") if page.exists() else ""
    found = []
    for section in parser.sections():
        if not section.startswith("testenv"):
            continue
        if not parser[section].get("description", "").strip():
            found.append(f"[{section}] has no description")
        name = section.partition(":")[2]
        if name and not re.search(rf"\b{re.escape(name)}\b", seen):
            found.append(f"docs/contributing.md does not say what {name} is for")
    return found


def changelog_violations(root: Path) -> list[str]:
    """Missing or misnamed changelog fragments."""
    folder = root / "docs" / "changelog.d"
    if not (folder / "README.md").exists():
        return ["docs/changelog.d/README.md does not say how to add a fragment"]
    names = [path.name for path in sorted(folder.glob("*")) if not path.name.startswith(("_", "."))]
    names.remove("README.md")
    found = []
    found += [
        f"docs/changelog.d/{n}: no fragment's name" for n in names if not _FRAGMENT.fullmatch(n)
    ]
    for name in names:
        if not (folder / name).read_text("utf-8").strip():
            found.append(f"docs/changelog.d/{name} is empty")
    return found


_GUARDS = {
    "top": top_violations,
    "words": word_violations,
    "names": name_violations,
    "prompts": prompt_violations,
    "tox": tox_violations,
    "changelog": changelog_violations,
}


@cache
def violations_of(root: Path, guard: str) -> list[str]:
    return _GUARDS[guard](root)


@pytest.mark.parametrize("guard", _GUARDS)
def test_tree(root: Path, guard: str) -> None:
    assert violations_of(root, guard) == []


def _appended(text: str) -> Any:
    return lambda old: f"{old}\n{text}\n"


@pytest.mark.parametrize(
    ("guard", "changes", "violations"),
    [
        ("top", {"notes.txt": "x"}, ["notes.txt does not belong at the top"]),
        ("top", {"setup.py": "x"}, ["setup.py does not belong at the top"]),
        ("words", {"docs/a.md": "# TODO: write"}, ["docs/a.md:1: an open task"]),
        (
            "words",
            {"src/a.py": "x = 1\n# see /home/me/x"},
            ["src/a.py:2: a path of somebody's machine"],
        ),
        ("words", {"tests/a.py": "'/Users/me'"}, ["tests/a.py:1: a path of somebody's machine"]),
        ("words", {".ci/run": "pip install --index-url x"}, [".ci/run:1: an index of packages"]),
        ("words", {"docs/a.md": "Co-Authored-By: x"}, ["docs/a.md:1: how it was written"]),
        ("words", {"docs/a.md": "Generated by an LLM"}, ["docs/a.md:1: how it was written"]),
        ("names", {"src/interpstack/utils.py": "x = 1"}, ["src/interpstack/utils.py"]),
        (
            "prompts",
            {"plugins/interpstack_new/a.py": '"""Doc.\n\n\n\nstring."""\nX = """a\nb\nc\nd"""\n'},
            ["plugins/interpstack_new/a.py:6: a long text"],
        ),
        (
            "prompts",
            {"plugins/interpstack_new/a.py": 'X = (\n  f"a{1}\\n"\n  f"b\\n"\n  "c\\n"\n  "d")\n'},
            ["plugins/interpstack_new/a.py:2: a long text"],
        ),
        (
            "prompts",
            {"plugins/interpstack_new/a.py": f"X = ({(chr(10) + repr('many words ' * 10)) * 4})"},
            ["plugins/interpstack_new/a.py:2: a long text"],
        ),
        ("tox", {"tox.ini": None}, ["there is no tox.ini"]),
        (
            "tox",
            {"tox.ini": _appended("[testenv:quux]\ncommands = true")},
            [
                "[testenv:quux] has no description",
                "docs/contributing.md does not say what quux is for",
            ],
        ),
        (
            "changelog",
            {"docs/changelog.d/new.md": "x", "docs/changelog.d/a.added.md": "\n"},
            ["docs/changelog.d/new.md: no fragment's name", "docs/changelog.d/a.added.md is empty"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_guard_notices(
    broken: Any, root: Path, guard: str, changes: Any, violations: list[str]
) -> None:
    already = violations_of(root, guard)
    assert [v for v in _GUARDS[guard](broken(changes)) if v not in already] == violations


def test_the_changelog_guard_wants_a_page_for_those_who_add_to_it(tmp_path: Path) -> None:
    assert changelog_violations(tmp_path) == [
        "docs/changelog.d/README.md does not say how to add a fragment"
    ]
