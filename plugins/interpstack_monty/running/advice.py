"""Advice for a cell that failed: the lines of its error, and what its session has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Final

import pydantic_monty

from interpstack import BridgeSet, Cell, GuestError
from interpstack.guests import Looked
from interpstack_monty.workers import KernelReplaced, MontyWorker
from interpstack_python.advice.advising import advised
from interpstack_python.advice.named_paths import Lines, Path

__all__ = ["MODULES", "with_advice"]

#: Modules that Monty has.
MODULES: Final = frozenset(
    """
    asyncio base64 binascii bisect collections copy csv dataclasses datetime decimal functools
    hashlib itertools json math random re time tomllib typing unicodedata
    """.split()  # noqa: SIM905 - reads best
)
#: Frames of sources; that of the cell is the last one that began.
_INPUT: Final = re.compile(r"<python-input-(\d+)>")


def with_advice(
    described: GuestError,
    error: pydantic_monty.MontyRuntimeError,
    cell: Cell,
    bridges: BridgeSet,
    worker: MontyWorker,
) -> GuestError:
    """The error of a cell with what is missing, and what is there instead, if that can be told.

    Call it inside `watched`, once the state of the session is stored: it leaves traces there.

    Args:
        described: The error.
        error: The same, of Monty's client.
        cell: The cell, as the user wrote it.
        bridges: The functions on offer.
        worker: Holds the session of the cell.
    """
    frames = error.traceback()
    if not frames or frames[0].filename != frames[-1].filename:
        return described  # a function of an earlier cell failed
    if _INPUT.fullmatch(frames[-1].filename) is None:
        return described
    lines = Lines(frames[-1].line, max(frames[-1].line, frames[-1].end_line))
    return advised(described, cell, lines, bridges, partial(_look, worker), MODULES)


@cache
def _source() -> str:
    return (files("interpstack_monty") / "look.txt").read_text("utf-8")


def _look(worker: MontyWorker, paths: Sequence[Path]) -> Sequence[Looked]:
    """What the session has along paths; nothing if it cannot tell, or is lost."""
    given = ascii([list(path) for path in paths])
    asked = f"__interpstack_look__(__interpstack_locals__(), {given}, __interpstack_kinds__)"
    try:
        found = worker.run(f"{_source()}\n{asked}")
    except (pydantic_monty.MontyError, KernelReplaced):
        return ()
    return Looked.read(found, len(paths))
