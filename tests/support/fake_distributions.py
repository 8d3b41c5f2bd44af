"""Distributions that seem to be installed."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import Any

import pytest

__all__ = ["FakeDistribution", "install_points"]


class FakeDistribution(Distribution):
    """A distribution with nothing but entry points.

    Args:
        name: Its name.
        points: Its entry points.
    """

    def __init__(self, name: str, points: Iterable[EntryPoint]) -> None:
        self._texts = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
            "entry_points.txt": "".join(f"[{p.group}]\n{p.name} = {p.value}\n" for p in points),
        }

    def read_text(self, filename: str) -> str | None:
        return self._texts.get(filename)

    def locate_file(self, path: Any) -> Path:
        raise FileNotFoundError(path)


def install_points(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    """Let each entry point be the only one of a distribution, and no other be installed."""
    every = [FakeDistribution(f"owner-{number}", [point]) for number, point in enumerate(points)]

    def distributions(name: str | None = None) -> list[FakeDistribution]:
        return [one for one in every if name in (None, one.name)]

    monkeypatch.setattr("importlib.metadata.distributions", distributions)
