"""Photographs a notebook as `notebook.png`: a real kernel runs it, Chromium shows it."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

HERE: Final = Path(__file__).parent
_CELLS: Final = (
    """%load_ext interpstack
import pandas as pd
orders = pd.DataFrame({'item': ['pen', 'book', 'ink'], 'count': [3, 1, 2]})
def unit_price(item): return {'pen': 2, 'book': 15, 'ink': 7}[item]""",
    """%%js --in orders --tools unit_price --out totals --frames
console.log(`${orders.length} orders`)
const totals = []
for (const {item, count} of orders)
  totals.push({item, total: count * await tools.unitPrice({item})})
totals""",
    "print(totals.total.sum())",
    """%%ts
function discount(total: number, rate: number): number {
  if (rate > 1) throw new RangeError(`a rate of ${rate}`)
  return total * (1 - rate)
}
discount(totals[0].total, 15)""",
    """%%js
const rest = = totals""",
)
_SIZE: Final = "900,780"


def photograph(target: Path) -> None:
    """Run the notebook, and write its picture."""
    cells = [nbformat.v4.new_code_cell(cell) for cell in _CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        notebook, kernel_name="python3", allow_errors=True, coalesce_streams=True
    ).execute()
    page, _ = HTMLExporter().from_notebook_node(notebook)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "notebook.html")
        file.write_text(page, "utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        picture = [f"--window-size={_SIZE}", f"--screenshot={target}"]
        subprocess.run(["chromium", *options, *picture, file.as_uri()], check=True)


if __name__ == "__main__":
    photograph(HERE / "notebook.png")
