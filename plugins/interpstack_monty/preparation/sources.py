"""The source of a cell as Monty gets it, or the reason why the cell cannot be run."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from interpstack import Cell, GuestError
from interpstack_monty.crossing.errors import syntax_error
from interpstack_monty.crossing.results import shown_chars
from interpstack_monty.preparation.cells import RefusedSource, prepare
from interpstack_monty.preparation.checking import check
from interpstack_monty.preparation.halves import half_pair
from interpstack_monty.preparation.timeouts import ScanDeadline
from interpstack_monty.state import MontyState
from interpstack_monty.workers import RESERVED

__all__ = ["prepared_source"]

#: Characters that are an underscore in a name, which Python reads in their normal form.
_LOW_LINES: Final = "_\uff3f\ufe33\ufe34\ufe4d\ufe4e\ufe4f"
#: Where a reserved name may begin that is spelled with other characters.
_SPELLED: Final = re.compile(rf"[{_LOW_LINES}]{{2}}(?![{_LOW_LINES}])(?=(\S{{1,{len(RESERVED)}}}))")


def prepared_source(cell: Cell, state: MontyState, timeout: ScanDeadline) -> str | GuestError:
    """The source of a cell, ready to run, or the error that refuses the cell.

    Raises:
        ScanTimeout: The time limit is reached, or the cell was stopped.
    """
    if _has_reserved(cell.source):
        return GuestError("NameError", f"names that begin with {RESERVED!r} are reserved")
    source = cell.source
    half = half_pair(source)
    if half is not None:
        line = 1 + source.count("\n", 0, half.at)
        return syntax_error(
            f"{half.shown} is half of a surrogate pair, which no string of Monty can hold",
            cell.name,
            line,
        )
    try:
        ready = prepare(source, shown_chars(state.limits), cell.value_name, timeout.check)
    except RefusedSource as error:
        return syntax_error(str(error), cell.name, error.line)
    refused = check(state, source, cell.name) if state.type_check else None
    return ready if refused is None else refused


def _has_reserved(source: str) -> bool:
    """Whether a source has a reserved name, however it is spelled, even in a text."""
    if RESERVED in source:
        return True
    return not source.isascii() and any(
        unicodedata.normalize("NFKC", f"__{found[1]}").startswith(RESERVED)
        for found in _SPELLED.finditer(source)
    )
