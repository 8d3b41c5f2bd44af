"""The page on persistence: the mode it shows passes the tests for modes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from interpstack import InterpreterStack, SessionState
from interpstack_agents import Persistence, RecordRejected, persistence_mode
from interpstack_testing import PersistenceConformance

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "persist-state.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@cache
def mode_of_the_page() -> type[Persistence]:
    """The class in the last block of code."""
    code = BLOCK.findall(PAGE.read_text("utf-8"))[-1]
    code = "\n".join(line for line in code.splitlines() if not line.endswith(".close()"))
    names: dict[str, Any] = {
        "InterpreterStack": InterpreterStack,
        "RecordRejected": RecordRejected,
        "SessionState": SessionState,
        "persistence_mode": persistence_mode,
    }
    exec(compile(code, str(PAGE), "exec"), names)
    mode: type[Persistence] = names["ValuesOnly"]
    return mode


class TestModeOfThePage(PersistenceConformance):
    keeps_images = False

    def make_mode(self, **options: Any) -> Persistence:
        return mode_of_the_page()(**options)
