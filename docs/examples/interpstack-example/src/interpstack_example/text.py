"""A bridge that guests await: `await text.stats({text})`."""

from __future__ import annotations

from interpstack import GuestException, bridge

__all__ = ["MAX_CHARS", "stats"]

MAX_CHARS = 1_000_000


@bridge("text.stats", concurrency=4)
def stats(text: str) -> dict[str, int]:
    """Lines, words and characters of a text."""
    if len(text) > MAX_CHARS:
        raise GuestException(
            f"text.stats takes at most {MAX_CHARS} characters; pass a part at a time",
            name="RangeError",
            chars=len(text),
        )
    return {"lines": len(text.splitlines()), "words": len(text.split()), "chars": len(text)}
