"""How figures are written in the tables."""

from __future__ import annotations

__all__ = ["count", "mb", "ms", "number_of_bytes", "times", "us"]


def ms(seconds: float) -> str:
    """Seconds, as milliseconds."""
    return f"{seconds * 1000:,.{0 if seconds >= 1 else 1 if seconds >= 0.01 else 2}f} ms"


def us(seconds: float) -> str:
    """Seconds, as microseconds."""
    return f"{seconds * 1e6:,.1f} µs"


def mb(number: float) -> str:
    """Bytes, as megabytes."""
    return f"{number / 1e6:,.1f} MB"


def number_of_bytes(number: float) -> str:
    """Bytes."""
    return f"{number:,.0f} B"


def count(number: float) -> str:
    """A number of things."""
    return f"{number:,.0f}"


def times(ratio: float) -> str:
    """A ratio."""
    return f"{ratio:,.2f} x"
