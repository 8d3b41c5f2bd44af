"""The version that the pages describe, at the foot of each."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any


def on_config(config: Any) -> None:
    """Name the installed version."""
    config.copyright = f"interpstack {version('interpstack')}"
