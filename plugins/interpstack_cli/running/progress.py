"""The progress of calls, for a person at a terminal."""

from __future__ import annotations

from typing import Protocol

from interpstack_cli.printing import write

__all__ = ["Report", "show_progress"]


class Report(Protocol):
    """A report on the progress of a call; see `interpstack_mcp.api.McpProgress`."""

    @property
    def tool(self) -> str: ...
    @property
    def progress(self) -> float: ...
    @property
    def total(self) -> float | None: ...
    @property
    def message(self) -> str: ...


def show_progress(report: Report) -> None:
    """Write a report on standard error, in one line."""
    of = "" if report.total is None else f"/{report.total:g}"
    words = f" {report.message}" if report.message else ""
    write(f"{report.tool}: {report.progress:g}{of}{words}", err=True)
