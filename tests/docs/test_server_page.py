"""The page of the example server, in a real browser."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import browser
from example_servers import Server, Servers

pytestmark = pytest.mark.timeout(900)  # a server and a browser start beside other tests

_BUYS = json.dumps(["await tools.note({what: 'looked'}); await tools.buy({what: '<b>boat</b>'})"])
_HOLDS = json.dumps(["await tools.hold({what: 'page'})"])


@pytest.fixture
def place(postgres: Any, tmp_path: Path) -> Iterator[Servers]:
    with Servers.at(postgres.new_database(), tmp_path) as servers:
        yield servers


@pytest.fixture
async def page() -> AsyncIterator[Any]:
    async with browser() as opened:
        page = await opened.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        page.set_default_timeout(60_000)
        yield page


async def _photograph(page: Any, name: str) -> None:
    if folder := os.environ.get("INTERPSTACK_SERVER_PICTURES"):
        await page.screenshot(path=Path(folder, f"{name}.png"))


async def test_a_person_talks_approves_stops_and_continues(place: Servers, page: Any) -> None:
    server: Server = place.start(1)
    await asyncio.to_thread(server.wait)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    await page.goto(f"{server.url}/#page")
    await page.get_by_label("Your message").fill(_BUYS)
    await page.keyboard.press("Enter")
    approve = page.get_by_role("button", name="Approve", exact=True)
    await approve.wait_for()
    await _photograph(page, "question")
    await _check_access(page)
    assert place.effects() == ["looked"]
    # The arguments as they were shown are approved, others are an edit.
    arguments = page.get_by_label("Arguments of buy")
    shown = await arguments.input_value()
    assert json.loads(shown) == {"what": "<b>boat</b>"}
    await arguments.fill('{"what": "bike"}')
    await approve.click()
    await page.get_by_text("The arguments were changed").wait_for()
    await page.get_by_role("button", name="Approve as edited").click()
    await page.locator("li.agent", has_text="done").wait_for()
    assert place.effects() == ["looked", "bought bike"]
    await page.get_by_label("Your message").fill(_HOLDS)
    await page.get_by_role("button", name="Send").click()
    await page.get_by_text("hold: runs").wait_for()
    await page.get_by_role("button", name="Stop").click()
    await page.get_by_role("button", name="Continue").wait_for()
    await _check_access(page)
    (place.folder / "effects.release").touch()
    await page.reload()
    await page.get_by_role("button", name="Continue").click()
    await page.locator("li.agent", has_text="done").nth(1).wait_for()
    assert await page.locator("li.user").count() == 2
    await page.set_viewport_size({"width": 1280, "height": 800})
    await page.emulate_media(color_scheme="light")
    await _photograph(page, "talk")
    assert faults == []
    await asyncio.to_thread(server.end)


async def _check_access(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.async_playwright")
    session = await page.context.new_cdp_session(page)
    await session.send("Page.setBypassCSP", {"enabled": True})  # which lets no other script in
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        found = await axe.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
