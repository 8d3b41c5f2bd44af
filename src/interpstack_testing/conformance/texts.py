"""Texts for property tests, as JSON can carry them."""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["joined", "texts"]


def texts(max_size: int | None = None) -> st.SearchStrategy[str]:
    """Texts of any characters, lone surrogates among them.

    Two surrogates in a row that make a pair are the character they stand for: JSON cannot tell
    the two spellings apart, so no text that crossed a boundary has the pair.

    Args:
        max_size: The most characters; `None` for no limit.
    """
    return st.text(st.characters(codec=None), max_size=max_size).map(joined)


def joined(text: str) -> str:
    """The same text with pairs of surrogates replaced by their characters."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
