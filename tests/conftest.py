"""Settings for the whole suite."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more of the machine than of the code.
settings.register_profile("interpstack", deadline=None)
settings.load_profile("interpstack")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells have jobs in the background ignore it, and so would every process a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["clocks", "engines", "stores", "suites"]


@pytest.fixture(scope="session", autouse=True)
def _guest_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One cache of compiled guests for the run, shared by its workers, never the user's own."""
    if "INTERPSTACK_CACHE_DIR" not in os.environ:
        base = tmp_path_factory.getbasetemp()
        shared: Path = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
        os.environ["INTERPSTACK_CACHE_DIR"] = str(shared / "guest-cache")
