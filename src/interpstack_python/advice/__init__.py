"""Advice beside the error of a cell: what is there instead.

These modules are loaded only after a cell that failed; `ADVISED` says after which error.

* `named_paths`: what the code names in the lines of the error, from the tree of the cell.
* `absent_names`: what other languages and other Pythons have, and what is here instead.
* `advising`: both compared with what the guest has and what is on offer.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ADVISED"]

#: Errors that may be about something that is not there.
ADVISED: Final = frozenset(
    {"AttributeError", "ImportError", "IndexError", "KeyError", "ModuleNotFoundError", "NameError"}
    | {"PermissionError", "TypeError"}
)
