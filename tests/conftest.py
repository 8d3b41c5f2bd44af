"""Settings for the whole suite."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells have jobs in the background ignore it, and so would every process a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["clocks", "engines", "npm_packages", "skips", "stores", "suites"]


@pytest.fixture(scope="session", autouse=True)
def _guest_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One cache of compiled guests for the run, shared by its workers, never the user's own."""
    if "INTERPSTACK_CACHE_DIR" not in os.environ:
        base = tmp_path_factory.getbasetemp()
        shared: Path = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
        os.environ["INTERPSTACK_CACHE_DIR"] = str(shared / "guest-cache")


def pytest_collection() -> None:
    """Look for no garbage among modules and tests, which live as long as the run."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Have the collector pass over all that there is by now."""
    gc.freeze()
    gc.enable()
