"""Progress for a person at a terminal."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from interpstack_cli.running.progress import show_progress


def test_a_report_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    show_progress(SimpleNamespace(tool="mcp.a.b", progress=1.5, total=3, message="half"))
    show_progress(SimpleNamespace(tool="mcp.a.b", progress=2, total=None, message=""))
    assert capsys.readouterr().err == "mcp.a.b: 1.5/3 half\nmcp.a.b: 2\n"
