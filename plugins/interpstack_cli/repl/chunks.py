"""The division of typed lines into complete chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

__all__ = ["LINES", "Follower", "chunks", "is_whole"]


class Follower(Protocol):
    """Follows code of one language, line by line, from the first line of a chunk."""

    @property
    def closed(self) -> bool:
        """Whether the lines so far need no further one."""

    def feed(self, text: str) -> None:
        """Take whole lines, each with its newline."""

    def ends_before(self, line: str) -> bool:
        """Whether this line can only belong to the next chunk."""


class _Lines:
    """Follows code in which each line is a complete chunk."""

    closed: Final = True

    def feed(self, text: str) -> None:
        """Nothing needs to be known of a line."""

    def ends_before(self, line: str) -> bool:
        """Never: the chunk ended with its line."""
        return False


#: For languages that say nothing of chunks.
LINES: Final[Callable[[], Follower]] = _Lines


def is_whole(text: str, follower: Callable[[], Follower]) -> bool:
    """Whether a text can be run as it is."""
    following = follower()
    following.feed(text + "\n")
    return following.closed


def chunks(lines: Iterable[str], follower: Callable[[], Follower]) -> Iterator[str]:
    """Each chunk as soon as it is a whole; the last one as it is."""
    chunk, following = "", follower()
    for line in lines:
        if following.ends_before(line):
            yield chunk
            chunk, following = "", follower()
        chunk += line
        following.feed(line)
        if following.closed:
            yield chunk
            chunk, following = "", follower()
    yield chunk
