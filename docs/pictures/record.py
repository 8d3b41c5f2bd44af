"""Records the demo as `demo.svg`: what `interpstack demo` shows in a terminal on a small folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

HERE: Final = Path(__file__).parent
_COLUMNS: Final = 100
_FOLDER: Final = HERE.parent / "examples" / "interpstack-example"


def record() -> str:
    """The demo's output as SVG that loads nothing from elsewhere."""
    command = [sys.executable, "-m", "interpstack", "demo", _FOLDER.name]
    environment = {
        **os.environ,
        "COLORTERM": "truecolor",
        "COLUMNS": str(_COLUMNS),
        "FORCE_COLOR": "1",
        "TTY_INTERACTIVE": "0",  # no progress that is written over again and again
    }
    shown = subprocess.run(
        command,
        cwd=_FOLDER.parent,
        env=environment,
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout
    console = Console(record=True, width=_COLUMNS, file=StringIO(), force_terminal=True)
    text = Text.from_ansi(shown.replace(str(_FOLDER), _FOLDER.name))
    console.print(Text("$ interpstack demo " + _FOLDER.name, "bold"), text, sep="\n")
    drawn = console.export_svg(title="interpstack demo", unique_id="demo")
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)


if __name__ == "__main__":
    (HERE / "demo.svg").write_text(record(), "utf-8")
