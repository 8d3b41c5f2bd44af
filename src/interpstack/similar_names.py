"""Names that somebody may have meant by a wrong one, for errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

__all__ = ["did_you_mean", "similar_names"]

#: Names that are compared, and the length of one: the time for a comparison is its square.
_COMPARED: Final = 2000
_CHARS: Final = 60


def similar_names(
    wrong: str, known: Iterable[str], *, most: int = 1, alike: float = 0.6
) -> list[str]:
    """The known names that are most like a wrong one, whatever their case and punctuation.

    Args:
        wrong: The wrong name.
        known: The names that there are. The first 2,000 of at most 60 characters are compared.
        most: The number of names.
        alike: How alike names must be, from 0 to 1, as `difflib` counts it.
    """
    from difflib import get_close_matches  # loaded for an error only

    spelt: dict[str, str] = {}
    for one in islice(known, _COMPARED):
        if len(one) <= _CHARS:
            spelt.setdefault(_bare(one), one)
    return [spelt[one] for one in get_close_matches(_bare(wrong[:_CHARS]), spelt, most, alike)]


def did_you_mean(
    wrong: str,
    known: Iterable[str],
    *,
    most: int = 1,
    alike: float = 0.6,
    write: Callable[[str], str] = repr,
) -> str:
    """A hint for the end of an error: `; did you mean 'a' or 'b'?`, or an empty text.

    Args:
        wrong: The wrong name.
        known: The names that there are; see `similar_names`.
        most: The number of names.
        alike: How alike names must be; see `similar_names`.
        write: Returns how a name is shown.
    """
    near = similar_names(wrong, known, most=most, alike=alike)
    return f"; did you mean {' or '.join(map(write, near))}?" if near else ""


def _bare(name: str) -> str:
    """A name without its spelling: `Read-Price`, `readPrice` and `read_price` are one."""
    return "".join(filter(str.isalnum, name)).casefold() or name
