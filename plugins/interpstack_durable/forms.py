"""The stored form of journals: its number, and errors for journals that cannot be read.

The first entry of a journal names its form. Only the newest form is written. Whoever changes it
raises `VERSION`, and lets `read_recorded` convert entries of the previous form of a release, so
that a paused eval survives an upgrade.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from interpstack import InterpstackError, __version__
from interpstack_durable.retries import effective

__all__ = [
    "VERSION",
    "UnreadableJournal",
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


def read_recorded(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Return the valid entries of a stored journal, in order.

    Raises:
        UnreadableJournal: The journal has an unknown form.
    """
    if not entries:
        return ()
    form = entries[0].get("version")
    if type(form) is not int or form != VERSION:
        wrote = entries[0].get("release")
        named = isinstance(wrote, str) and wrote.isprintable() and wrote
        raise UnreadableJournal(
            f"the journal of this eval has the form {form!r:.20}, written by "
            f"{f'interpstack {wrote:.20}' if named else 'another release of interpstack'}; "
            f"interpstack {__version__} reads the form {VERSION}. Nothing was done, and the eval "
            "is unchanged: resume it with the release that wrote the journal"
        )
    return effective(entries)
