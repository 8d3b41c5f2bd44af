"""Any engine in worker processes: `engine="process:quickjs"`."""

from __future__ import annotations

import os

from interpstack import Engine, hookimpl


@hookimpl
def interpstack_register_engine() -> type[Engine] | None:
    if os.name != "posix":
        return None  # sockets of its own, resource limits and process groups are needed

    from interpstack_process.engine import ProcessEngine

    return ProcessEngine
