"""The forms of journals that releases wrote, with a reader for each form.

The first entry of a journal names its form. Only the newest form is written; the previous one is
also read, so that a paused eval survives an upgrade. To change the form, raise `VERSION`, let
`_READERS` read the form that was the newest until then, and drop the oldest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs

from interpstack import InterpstackError, __version__
from interpstack_durable.retries import effective

__all__ = [
    "VERSION",
    "RecordedJournal",
    "UnreadableJournal",
    "form_of",
    "read_recorded",
    "reporting_damage",
]

#: The form that is written.
VERSION: Final = 2

#: Exceptions from reading malformed entries. `ProtocolError` is a `ValueError`.
_DAMAGE: Final = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip

Entry = Mapping[str, Any]


class UnreadableJournal(InterpstackError, RuntimeError):
    """Raised when a journal is damaged, or in a form that this release cannot read.

    Raised out of `Session.eval` before anything is done; another release can continue the cell.
    """


@attrs.frozen
class RecordedJournal:
    """A journal, in the newest form.

    Attributes:
        entries: In order.
        first_request: The number of the cell's first request.
    """

    entries: Sequence[Entry] = ()
    first_request: int = 1


@contextmanager
def reporting_damage() -> Iterator[None]:
    """Turn exceptions from reading damaged entries into `UnreadableJournal`."""
    try:
        yield
    except _DAMAGE as error:
        raise UnreadableJournal(
            f"the journal of this eval is damaged ({type(error).__name__}: {error!s:.200}). "
            "Nothing was done, and the eval is unchanged"
        ) from error


def read_recorded(entries: Sequence[Entry]) -> RecordedJournal:
    """Convert stored entries to the newest form.

    Raises:
        UnreadableJournal: The journal has an unknown form.
    """
    if not entries:
        return RecordedJournal()
    form = form_of(entries)
    reader = _READERS.get(form) if type(form) is int else None
    if reader is None:
        known = " and ".join(str(number) for number in sorted(_READERS))
        wrote = entries[0].get("release")
        named = isinstance(wrote, str) and wrote.isprintable() and wrote
        raise UnreadableJournal(
            f"the journal of this eval has the form {form!r:.20}, written by "
            f"{f'interpstack {wrote:.20}' if named else 'another release of interpstack'}; "
            f"interpstack {__version__} reads the forms {known}. Nothing was done, and the eval "
            "is unchanged: resume it with the release that wrote the journal"
        )
    return reader(effective(entries))


def form_of(entries: Sequence[Entry]) -> Any:
    """Return the number of the form in which a journal is stored; `None` if it names none."""
    return entries[0].get("version") if entries else None


def _first(entries: Sequence[Entry]) -> RecordedJournal:
    """Form 1: requests have the engine's own ids, and undelivered answers belong to a pause."""
    read = [
        {**entry, "kept": {**entry["kept"], "pausing": True}} if "kept" in entry else entry
        for entry in entries
    ]
    asked = (one for entry in read for one in entry.get("kept", entry).get("asked", ()))
    first = next(asked, None)
    return RecordedJournal(read, 1 if first is None else int(first[0]))


def _second(entries: Sequence[Entry]) -> RecordedJournal:
    """Form 2: requests are numbered from 1 in each cell."""
    return RecordedJournal(entries)


_READERS: Final[Mapping[int, Callable[[Sequence[Entry]], RecordedJournal]]] = {
    1: _first,
    2: _second,
}
