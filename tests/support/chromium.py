"""A real browser, without a window: Chromium of this machine, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

#: Names under which systems install it.
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def program() -> str:
    """The path of the browser; skips the test where there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here; apt-get install chromium")
    return str(found)


@asynccontextmanager
async def browser() -> AsyncIterator[Any]:
    """A browser of Playwright; skips the test where one of both is missing."""
    playwright = pytest.importorskip(
        "playwright.async_api", reason="Playwright is not installed; run: tox -e inspect"
    )
    path = program()
    async with playwright.async_playwright() as driver:
        # Without a sandbox of its own, since containers have no user namespaces.
        opened = await driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        await opened.close()
