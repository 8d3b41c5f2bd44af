"""Imports of names that need an extra: if its packages are missing, the error names the extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """\
import sys
sys.modules[{missing!r}] = None
try:
    from {module} import {name}
except ModuleNotFoundError as error:
    print(error.name, error)
"""


@pytest.mark.parametrize(
    ("module", "name", "missing", "extra"),
    [
        ("interpstack_otel.api", "OpenTelemetry", "opentelemetry", "otel"),
        ("interpstack_mcp.api", "mcp", "mcp", "mcp"),
        ("interpstack_monty.engine", "MontyEngine", "pydantic_monty", "monty"),
        ("interpstack_v8.engine", "V8Engine", "jsrun", "v8-engine"),
        ("interpstack_testing", "EngineConformance", "pytest", "testing"),
    ],
)
def test_the_error_names_the_extra(module: str, name: str, missing: str, extra: str) -> None:
    program = PROGRAM.format(missing=missing, module=module, name=name)
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    expected = f"needs {missing}; install the extra with: pip install 'interpstack[{extra}]'\n"
    assert run.stdout.startswith(f"{missing} ")
    assert run.stdout.endswith(expected)
