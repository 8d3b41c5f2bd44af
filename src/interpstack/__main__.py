"""`python -m interpstack` is the command line."""

from __future__ import annotations

import sys

try:
    from interpstack_cli import start
except ModuleNotFoundError as error:
    sys.exit(
        f"Error: the command line needs {error.name}, which is not installed; "
        "install it with: pip install --force-reinstall interpstack"
    )

start()
