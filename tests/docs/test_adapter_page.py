"""The how-to page on adapters: its code is the example's, whole and in order."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "interpstack-minimal-agent"
BLOCK = re.compile(r'^```\w+ title="(.+?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
#: Blocks that are commands.
_COMMANDS = "in the folder of pyproject.toml"


def without_blank_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_code_of_the_page_is_the_example() -> None:
    page = (DOCS / "how-to" / "write-an-adapter.md").read_text("utf-8")
    found: dict[str, str] = {}
    for title, code in BLOCK.findall(page):
        found[title] = found.get(title, "") + "\n" + code
    found.pop(_COMMANDS)
    files = {path for path in EXAMPLE.rglob("*") if path.suffix in (".py", ".toml")}
    assert found.keys() == {path.relative_to(EXAMPLE).as_posix() for path in files}
    for title, code in found.items():
        assert without_blank_lines(code) == without_blank_lines((EXAMPLE / title).read_text())


def test_the_adapter_is_as_small_as_the_page_says() -> None:
    code = EXAMPLE / "src" / "interpstack_minimal_agent" / "__init__.py"
    assert len(code.read_text("utf-8").splitlines()) <= 150
