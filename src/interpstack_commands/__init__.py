"""Commands that the host allows, run as processes of this machine within limits."""

from __future__ import annotations

from interpstack_commands.local import LocalSandbox
from interpstack_commands.processes import ProcessOutput, run_process
from interpstack_commands.sandbox import (
    OUTPUT_BYTES,
    ExecRefused,
    ExecSpec,
    ExecTimeout,
    Sandbox,
)

__all__ = [
    "OUTPUT_BYTES",
    "ExecRefused",
    "ExecSpec",
    "ExecTimeout",
    "LocalSandbox",
    "ProcessOutput",
    "Sandbox",
    "run_process",
]
