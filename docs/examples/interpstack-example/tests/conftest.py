"""Settings for the tests of the example."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def _guest_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compiled guests are cached for this run, never among the user's own."""
    patch = pytest.MonkeyPatch()
    folder: Path = tmp_path_factory.getbasetemp() / "guest-cache"
    patch.setenv("INTERPSTACK_CACHE_DIR", str(folder))
