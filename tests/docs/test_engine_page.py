"""The how-to pages on engines: their code is the example's, and passes the tests."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "interpstack-example"
SOURCES = EXAMPLE / "src" / "interpstack_example"
FILES = {
    "postfix/language.py": SOURCES / "postfix" / "language.py",
    "postfix/engine.py": SOURCES / "postfix" / "engine.py",
    "postfix/guest_language.py": SOURCES / "postfix" / "guest_language.py",
    "postfix/__init__.py": SOURCES / "postfix" / "__init__.py",
    "postfix/conformance.py": SOURCES / "postfix" / "conformance.py",
    "tests/test_postfix.py": EXAMPLE / "tests" / "test_postfix.py",
}
BLOCK = re.compile(r'^```\w+ title="(.+?)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def code_of_the_page() -> dict[str, str]:
    """The code by file; blocks with the same title follow each other."""
    page = (DOCS / "how-to" / "write-an-engine.md").read_text("utf-8")
    found: dict[str, str] = {}
    for title, code in BLOCK.findall(page):
        found[title] = found.get(title, "") + "\n" + code
    return found


def without_blank_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def test_code_of_the_page_is_the_example() -> None:
    code = code_of_the_page()
    settings = without_blank_lines(code.pop("pyproject.toml"))
    assert set(settings) <= set((EXAMPLE / "pyproject.toml").read_text("utf-8").splitlines())
    assert code.keys() == FILES.keys()
    for title, path in FILES.items():
        assert without_blank_lines(code[title]) == without_blank_lines(path.read_text("utf-8"))


def _tests() -> ModuleType:
    """The example's tests of its engine, run here without the example being installed."""
    with pytest.MonkeyPatch.context() as patch:
        if "interpstack_example" not in sys.modules:
            patch.syspath_prepend(str(EXAMPLE / "src"))
        spec = spec_from_file_location("interpstack_example_tests", FILES["tests/test_postfix.py"])
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


TestEngineOfThePage = _tests().TestPostfix


def _classes() -> dict[str, type]:
    """The test classes of the page on testing."""
    page = (DOCS / "how-to" / "test-your-engine.md").read_text("utf-8")
    namespace: dict[str, Any] = {"__name__": "page"}
    for code in re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "page", "exec", dont_inherit=True), namespace)
    return {name: value for name, value in namespace.items() if name.startswith("Test")}


_found = _classes()
TestBridgesOfThePage = _found["TestWeather"]
TestRecordsOfThePage = _found["TestThread"]
