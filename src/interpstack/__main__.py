"""`python -m interpstack` is the command line."""

from __future__ import annotations

from interpstack.cli import main

main(prog_name="interpstack")
