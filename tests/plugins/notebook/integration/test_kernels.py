"""Interrupts and restarts of a kernel, and a whole notebook as HTML."""

from __future__ import annotations

import re
import sys
from typing import Any

import nbformat
import psutil
import pytest
from nbclient import NotebookClient
from notebooks import LOAD, kernel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="interrupts are signals")


@pytest.mark.parametrize(
    "ending", ["for (;;);", "await new Promise(done => setTimeout(done, 1e6))"]
)
def test_an_interrupt_stops_the_code_and_leaves_the_session(ending: str) -> None:
    with kernel() as running:
        running.run("def begin(): print('begun', flush=True)")
        running.run("%%js --tools begin\nlet a = 41")
        output = running.run(f"%%js\nawait tools.begin({{}}); {ending}", interrupt_at="begun")
        assert output.error is not None
        assert output.error[0] == "KeyboardInterrupt"
        assert len("\n".join(output.error[2]).splitlines()) == 1
        assert running.run("%%js\na + 1").bundles[0]["text/plain"] == "42"


def test_a_restart_leaves_nothing_behind() -> None:
    with kernel() as running:
        assert running.run("%%guest engine=v8\nlet a = 1; a").bundles[0]["text/plain"] == "1"
        pid = int(running.run("import os; print(os.getpid())").text)
        children = psutil.Process(pid).children(recursive=True)
        assert children, "V8 runs in a process of its own"
        running.restart()
        psutil.wait_procs(children, timeout=60)
        assert [one for one in children if one.is_running()] == []
        assert "Cell magic `%%guest` not found" in running.run("%%guest engine=v8\na").text
        running.run(LOAD)
        output = running.run("%%guest engine=v8\ntypeof a")
        assert output.bundles[0]["text/plain"].strip("'\"") == "undefined"


#: The cells of a notebook as a person writes one; the last but one fails.
CELLS = [
    LOAD,
    "orders = [{'item': '<b>pen</b>', 'count': 3}, {'item': 'ink', 'count': 2}]",
    "%%js --in orders --out totals\n"
    "console.log(orders.length + ' orders')\n"
    "const totals = orders.map(({item, count}) => ({item, total: 2 * count}))\n"
    "totals",
    "print(sum(row['total'] for row in totals))",
    "%%ts\nconst first: number = totals[0].total\nfirst.missing()",
    "%%js\n'<script>alert(1)</script>'",
]


def test_a_whole_notebook_is_looked_at_as_html() -> None:
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        notebook, timeout=200, kernel_name="python3", allow_errors=True, coalesce_streams=True
    ).execute()
    nbformat.validate(notebook)
    stream, totals = notebook.cells[2].outputs
    assert stream.text == "2 orders\n"
    rows = re.findall(r"<tr>(.*?)</tr>", _html(totals))
    assert rows == [
        "<th>item</th><th>total</th>",
        "<td>&lt;b&gt;pen&lt;/b&gt;</td><td>6</td>",
        "<td>ink</td><td>4</td>",
    ]
    assert notebook.cells[3].outputs[0].text == "10\n"
    (failed,) = notebook.cells[4].outputs
    assert failed.output_type == "error"
    assert "cell:2:" in "\n".join(failed.traceback)
    (shown,) = notebook.cells[5].outputs
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in _html(shown)
    assert "<script" not in _html(totals) + _html(shown)


def _html(output: Any) -> str:
    """The form of an output that a browser shows."""
    return str(output.data["text/html"])
