"""Two sequences side by side, and the places where two texts differ."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, TypeVar

import attrs

from interpstack_inspect.shown.texts import brief

__all__ = ["Part", "aligned", "alone", "parted"]

_T = TypeVar("_T")
#: Pairs of entries that are compared one by one; longer sequences are paired more coarsely, because
#: the time for the best pairs grows with the product of both lengths.
_MOST_PAIRS: Final = 250_000
#: Characters of a text before and after the differing ones, and of these.
_AROUND_CHARS: Final = 80
_DIFFERENT_CHARS: Final = 500


def aligned(
    left: Sequence[_T], right: Sequence[_T], *keys: Callable[[_T], Hashable]
) -> Iterator[tuple[_T | None, _T | None]]:
    """Pairs of entries, in the order of both sequences; `None` stands for a missing partner.

    Args:
        left: The entries of one side.
        right: The entries of the other side.
        keys: Entries with the same key are partners. Entries without a partner by the first key
            are looked at by the next one.
    """
    if not keys or not left or not right:
        yield from ((entry, None) for entry in left)
        yield from ((None, entry) for entry in right)
        return
    key, *rest = keys
    for same, first, second in _blocks([*map(key, left)], [*map(key, right)]):
        if same:
            yield from zip(left[first], right[second], strict=True)
        else:
            yield from aligned(left[first], right[second], *rest)


def _blocks(
    left: Sequence[Hashable], right: Sequence[Hashable]
) -> Iterator[tuple[bool, slice, slice]]:
    """Slices of two lists of keys that are the same, or have nothing in common."""
    start, end = _shared(left, right)
    yield True, slice(0, start), slice(0, start)
    first, second = left[start : len(left) - end], right[start : len(right) - end]
    if len(first) * len(second) > _MOST_PAIRS:
        yield False, slice(start, len(left) - end), slice(start, len(right) - end)
    else:
        matcher = SequenceMatcher(None, first, second, autojunk=False)
        for tag, *ends in matcher.get_opcodes():
            a, b, c, d = (start + at for at in ends)
            yield tag == "equal", slice(a, b), slice(c, d)
    yield True, slice(len(left) - end, len(left)), slice(len(right) - end, len(right))


@attrs.frozen
class Part:
    """A text of one side, with the characters that differ from the other side.

    Attributes:
        before: The end of the characters before the differing ones.
        different: The differing characters, or their beginning.
        after: The beginning of the characters after them.
    """

    before: str = ""
    different: str = ""
    after: str = ""


def alone(text: str) -> Part:
    """A text that the other side lacks."""
    return Part(different=brief(text, _DIFFERENT_CHARS))


def parted(text: str, other: str) -> tuple[Part, Part]:
    """Two texts, with the characters around the differing ones of each."""
    if text == other:
        same = Part(before=brief(text, _DIFFERENT_CHARS))
        return same, same
    start, end = _shared(text, other)
    return _part(text, start, end), _part(other, start, end)


def _shared(left: Sequence[object], right: Sequence[object]) -> tuple[int, int]:
    """Lengths of the beginning and of the end that two sequences share."""
    least = range(min(len(left), len(right)) + 1)
    start = bisect_left(least, True, key=lambda size: left[:size] != right[:size]) - 1
    least = least[: len(least) - start]
    ends = bisect_left(
        least, True, key=lambda size: left[len(left) - size :] != right[len(right) - size :]
    )
    return start, ends - 1


def _part(text: str, start: int, end: int) -> Part:
    before, after = text[:start], text[len(text) - end :]
    if len(before) > _AROUND_CHARS:
        before = f"…{before[-_AROUND_CHARS:]}"
    different = brief(text[start : len(text) - end], _DIFFERENT_CHARS)
    return Part(before, different, brief(after, _AROUND_CHARS))
