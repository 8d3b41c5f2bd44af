"""The pages in a real browser: what people see and do, and what other pages cannot do.

`tox -e inspect` runs these tests, and makes the pictures of the documentation with them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import attrs
import pytest
from chromium import browser
from inspected import HOSTILE_SEEN, RecordSource, hostile_record, record
from inspected_agents import PAID, agent, config, database, turn
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from workflow_runs import Prompts, runner, script

from interpstack_inspect.api import RunSource
from interpstack_inspect.serving.server import serve
from interpstack_langchain.inspecting.agents import AgentSource
from interpstack_langchain.inspecting.conversations import ReadingOptions

#: The folder for pictures; none are made without it.
_PICTURES = os.environ.get("INTERPSTACK_PICTURES")
#: A folder for pictures that somebody looks at, and that no page shows; none are made without it.
_LOOKED = os.environ.get("INTERPSTACK_LOOKED_AT")
_WINDOW = {"width": 900, "height": 700}
_ORDERS = """\
const totals = []
for (const n of [1, 2, 3]) totals.push(await tools.look({n}))
console.log(`${totals.length} orders`)
await tools.pay({amount: 70})"""
_REPORT = """
phase('Read')
const texts = await Promise.all(['orders', 'refunds'].map(name => agent('read ' + name)))
phase('Send')
try { await agent('fail to send') } catch (error) { console.log(error.message) }
return await agent('report on ' + texts.length)"""


@attrs.frozen
class Site:
    """An inspector that is served, and a browser that has opened it.

    Attributes:
        address: The address of the pages.
        links: Links that were announced.
        page: A tab of the browser.
        errors: Messages of the browser, for example of its content security policy.
    """

    address: str
    links: list[str]
    page: Any
    errors: list[str]

    async def go(self, path: str) -> Any:
        await self.page.goto(self.address + path)
        return self.page

    async def text(self) -> str:
        return str(await self.page.inner_text("body"))

    async def accessible(self) -> None:
        """Have axe look for violations, light and dark."""
        from axe_playwright_python.async_playwright import Axe

        for scheme in ("light", "dark"):
            await self.page.emulate_media(color_scheme=scheme)
            found = await _axe(self.page, Axe)
            assert found.violations_count == 0, found.generate_report()
        await self.page.emulate_media(color_scheme="light")

    async def picture(self, name: str, until: str) -> None:
        """Photograph the page, from its top to the end of an element."""
        if _PICTURES:
            await self.page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
            box = await self.page.locator(until).first.bounding_box()
            clip = {"x": 0, "y": 0, "width": _WINDOW["width"], "height": 0}
            clip["height"] = int(box["y"] + box["height"]) + 24
            await self.page.screenshot(path=Path(_PICTURES, name), full_page=True, clip=clip)


async def _axe(page: Any, axe: Any) -> Any:
    """The findings of axe, whose script the policy of a page would not let in."""
    session = await page.context.new_cdp_session(page)
    await session.send("Page.setBypassCSP", {"enabled": True})
    return await axe().run(page)


@asynccontextmanager
async def site(source: RunSource) -> AsyncIterator[Site]:
    """A source in a browser."""
    links: list[str] = []
    announced = asyncio.Event()

    def announce(link: str) -> None:
        links.append(link)
        announced.set()

    async with browser() as opened:
        serving = asyncio.ensure_future(serve(source, 0, announce))
        try:
            await asyncio.wait_for(announced.wait(), 30)
            context = await opened.new_context(viewport=_WINDOW)
            page = await context.new_page()
            errors: list[str] = []
            page.on("console", lambda message: errors.append(message.text))
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("dialog", lambda dialog: errors.append(dialog.message))
            await page.goto(links[0])
            await page.wait_for_url("**/")
            yield Site(links[0].partition("/open")[0], links, page, errors)
        finally:
            serving.cancel()
            await asyncio.wait([serving])


@pytest.fixture
def made() -> Any:
    PAID.clear()
    return agent(InMemorySaver())


@pytest.fixture
async def stored(tmp_path: Path) -> AsyncIterator[tuple[str, Any]]:
    """A database, and an agent whose checkpointer is in it."""
    place = str(tmp_path / "stored.db")
    async with AsyncSqliteSaver.from_conn_string(place) as saver:
        yield place, agent(saver)


def _source(made: Any) -> AgentSource:
    return AgentSource("shop:agent", made, ReadingOptions())


async def test_from_the_link_to_an_eval_by_keyboard(made: Any) -> None:
    for name in ("orders of today", "another"):
        await made.ainvoke(turn(_ORDERS), config(name))
    async with site(_source(made)) as seen:
        page = seen.page
        await seen.accessible()
        await seen.picture("inspect-first.png", ".waiting")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
        await page.get_by_label("Names that contain").fill("ORDERS")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/?containing=ORDERS")
        assert await page.locator("tbody tr").count() == 1
        await page.locator("tbody").get_by_role("link", name="orders of today").focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/conversation?**")
        await seen.accessible()
        await seen.picture("inspect-approval.png", ".talk")
        await page.get_by_role("link", name="Eval 1").click()
        await page.wait_for_url("**/eval?**")
        await seen.accessible()
        assert "3 calls of tools.look" in await seen.text()
        count = await page.locator(".timeline tbody tr").count()
        assert await page.locator(".timeline tbody tr:not(.computing)").count() == 5
        await page.get_by_label("Entries that contain").fill("seen 2")
        assert await page.locator(".timeline tbody tr:visible").count() == 1
        assert f"1 of {count} entries" in await seen.text()
        await page.get_by_label("Entries that contain").fill("")
        assert await page.locator(".timeline tbody tr:visible").count() == count
        await page.locator("summary").first.focus()
        await page.keyboard.press("Enter")
        assert await page.get_by_text('"seen 1"').is_visible()
        await page.locator("summary").first.press("Enter")
        await seen.picture("inspect-eval.png", "#timeline")
        assert seen.errors == []


async def test_a_timeline_of_a_thousand_calls() -> None:
    made = agent(InMemorySaver(), max_ptc_calls=None)
    code = "(await Promise.all(Array.from({length: 1000}, (_, n) => tools.look({n})))).length"
    await made.ainvoke(turn(code), config())
    async with site(_source(made)) as seen:
        taken = []
        for _ in range(5):
            begun = time.perf_counter()
            page = await seen.go("/eval?name=t&number=1")
            assert await page.locator(".timeline tbody tr:not(.computing)").count() == 1000
            taken.append(time.perf_counter() - begun)
        await page.get_by_label("Entries that contain").fill("seen 77")
        assert await page.locator(".timeline tbody tr:visible").count() == 11
        print(f"a timeline of 1,000 calls: {min(taken):.2f} s")


async def test_two_runs_are_compared_by_keyboard(made: Any) -> None:
    await made.ainvoke(turn(_ORDERS), config("monday"))
    other = _ORDERS.replace("[1, 2, 3]", "[1, 4, 3]").replace("70", "75")
    await made.ainvoke(turn(other), config("tuesday"))
    for name in ("monday", "tuesday"):
        approved = Command(resume={"decisions": [{"type": "approve"}]})
        await made.ainvoke(approved, config(name))
    async with site(_source(made)) as seen:
        page = seen.page
        for name in ("monday", "tuesday"):
            await page.get_by_label(f"Compare {name}").focus()
            await page.keyboard.press("Space")
        await page.get_by_role("button", name="Compare two").focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/compare?**")
        await seen.accessible()
        assert "Evals in order: 1 difference" in await seen.text()
        await page.get_by_role("link", name="compare Eval 1 and Eval 1").focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/compare?**eval=1**")
        await seen.accessible()
        marked = await page.locator("mark").all_inner_texts()
        assert {"2", "4", "0", "5"} <= set(marked)
        for title in ("Code: 2 differences", "Calls in order: 3 differences"):
            assert title in await seen.text()
        await seen.picture("inspect-compare.png", "[aria-labelledby=calls]")
        await page.go_back()
        await page.get_by_label("Eval, by its number").first.fill("1")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**&eval=1&**")
        assert "Give the numbers of both evals" in await seen.text()
        await page.goto(f"{seen.address}/conversation?name=monday")
        await page.get_by_role("button", name="Compare two evals").click()
        assert "Choose a second eval or conversation" in await seen.text()
        assert seen.errors == []


@pytest.mark.parametrize(
    ("decide", "paid", "answer"),
    [
        (lambda page: page.get_by_label("approve").check(), [70], "paid 70"),
        (lambda page: _edit(page), [7], "paid 7"),
        (lambda page: _reject(page), [], "too much"),
    ],
    ids=["approve", "edit", "reject"],
)
async def test_a_decision_resumes_the_run_and_the_page_shows_it(
    made: Any, decide: Callable[[Any], Any], paid: list[int], answer: str
) -> None:
    await made.ainvoke(turn(_ORDERS), config())
    async with site(_source(made)) as seen:
        page = await seen.go("/conversation?name=t")
        assert await page.locator(".status.paused").count() == 1
        assert "approval of pay" in await seen.text()
        await decide(page)
        await page.get_by_role("button", name="Send the decision").click()
        await page.wait_for_url("**/conversation?name=t")
        await page.wait_for_selector(".status.paused", state="detached")  # without a reload
        await page.wait_for_selector("text=The run goes on", state="detached")
        assert "Open questions" not in await seen.text()
        assert await page.locator(".status.paused").count() == 0
        assert paid == PAID
        await page.get_by_role("link", name="Eval 1").click()
        await page.wait_for_url("**/eval?**")
        assert answer in await seen.text()
        assert seen.errors == []


async def test_a_page_follows_the_conversation_and_keeps_what_somebody_writes(made: Any) -> None:
    await made.ainvoke(turn(_ORDERS), config())
    async with site(_source(made)) as seen:
        other = await seen.page.context.new_page()
        page = await seen.go("/eval?name=t&number=1")
        await page.locator("#texts-call-2 summary").press("Enter")
        await page.get_by_label("Entries that contain").fill("seen 2")
        await other.goto(f"{seen.address}/conversation?name=t")
        await _reject(other)
        decided = Command(resume={"decisions": [{"type": "approve"}]})
        await made.ainvoke(decided, config())
        await page.wait_for_selector("text=paid 70", state="attached")
        assert await page.locator("#texts-call-2[open]").count() == 1
        assert await page.locator(".timeline tbody tr:visible").count() == 1
        await other.wait_for_selector("text=There is something new. Reload the page")
        assert await other.get_by_label("Message, for").input_value() == "too much"
        await other.reload()
        assert "Open questions" not in await other.inner_text("body")
        assert seen.errors == []


async def _edit(page: Any) -> None:
    await page.get_by_label("edit", exact=True).check()
    await page.get_by_label("Arguments, for edit").fill('{"amount": 7}')


async def _reject(page: Any) -> None:
    await page.get_by_label("reject", exact=True).check()
    await page.get_by_label("Message, for").fill("too much")


async def test_questions_are_answered_on_the_first_page_with_keys_alone(made: Any) -> None:
    for name in ("first", "second"):
        await made.ainvoke(turn("await tools.pay({amount: 70})"), config(name))
    async with site(_source(made)) as seen:
        page, press = seen.page, seen.page.keyboard.press
        assert await page.title() == "(2) Conversations · Inspector"
        await press("j")
        focused = page.locator(":focus")
        assert "Call 1 of 1: pay" in await focused.inner_text()
        assert await focused.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
        await press("j")
        await press("k")
        await press("r")
        assert await focused.evaluate("one => one.id") == "message-0-0-0"
        await page.keyboard.type("jars cost less?")
        assert await focused.input_value() == "jars cost less?"  # a letter is a letter here
        await press("Control+Enter")
        await page.wait_for_function("document.title.startsWith('(1)')")
        assert PAID == []
        await press("j")
        await press("a")
        assert await focused.inner_text() == "Send the decision"
        assert PAID == []  # a key decides nothing before it is sent
        await press("Enter")
        await page.wait_for_function("document.title.startsWith('Conversations')")
        assert PAID == [70]
        await press("j")
        await press("Enter")
        await page.wait_for_url("**/conversation?**")
        assert seen.errors == []


async def test_shortcuts_are_listed_and_can_be_turned_off(made: Any) -> None:
    await made.ainvoke(turn("await tools.pay({amount: 70})"), config())
    async with site(_source(made)) as seen:
        page, press = seen.page, seen.page.keyboard.press
        await press("?")
        assert await page.get_by_role("dialog", name="Keyboard shortcuts").is_visible()
        await seen.accessible()
        await page.get_by_label("Use shortcuts of a single key").uncheck()
        await press("Escape")
        assert await page.locator("dialog[open]").count() == 0
        await page.reload()
        await press("j")
        assert await page.locator("[data-item]:focus").count() == 0
        await page.get_by_role("button", name="Keyboard shortcuts").focus()
        await press("Enter")
        assert await page.locator("dialog[open]").count() == 1
        assert seen.errors == []


async def test_tab_goes_through_all_of_a_page_and_out_of_it(made: Any) -> None:
    await made.ainvoke(turn("await tools.pay({amount: 70})"), config())
    async with site(_source(made)) as seen:
        page = await seen.go("/conversation?name=t")
        reached = []
        for _ in range(60):
            await page.keyboard.press("Tab")
            if await page.evaluate("document.activeElement === document.body"):
                break
            reached.append(await page.evaluate("document.activeElement.textContent"))
        else:
            raise AssertionError("the focus does not leave the page")
        assert "Send the decision" in reached
        assert "Compare with another conversation" in reached


async def test_times_are_those_of_the_readers_zone(made: Any) -> None:
    source = RecordSource({"t": [record()]})
    async with site(source) as seen:
        context = await seen.page.context.browser.new_context(timezone_id="Asia/Tokyo")
        page = await context.new_page()
        await page.goto(seen.links[1])
        await page.wait_for_url("**/")
        shown = page.locator("tbody time")
        assert "12:04:05" in await shown.inner_text()
        assert await shown.get_attribute("title") == "2026-01-02 03:04:05 UTC"


async def test_pages_fit_a_phone(stored: tuple[str, Any]) -> None:
    place, made = stored
    await made.ainvoke(turn(_ORDERS), config("orders of today"))
    async with runner(Prompts(), place) as running:
        asked = await running.run(script("return await ask('Ship?', {choices: ['yes', 'no']})"))
    async with site(_source(made)) as seen:
        await seen.page.set_viewport_size({"width": 360, "height": 740})
        name = "name=orders%20of%20today"
        paths = ["/", f"/conversation?{name}", f"/eval?{name}&number=1", "/workflows"]
        for number, path in enumerate([*paths, f"/workflow?run={asked.run_id}"]):
            page = await seen.go(path)
            wide = await page.evaluate("document.documentElement.scrollWidth")
            assert wide <= 360, path
            await seen.accessible()
            if _LOOKED:
                for scheme in ("light", "dark"):
                    await page.emulate_media(color_scheme=scheme)
                    picture = Path(_LOOKED, f"phone-{number}-{scheme}.png")
                    await page.screenshot(path=picture, full_page=True)
        assert seen.errors == []


async def test_the_question_of_a_workflow_is_answered_in_place(stored: tuple[str, Any]) -> None:
    place, made = stored
    async with runner(Prompts(), place) as running:
        asked = await running.run(script("return await ask('Ship?', {choices: ['yes', 'no']})"))
    async with site(_source(made)) as seen:
        page = await seen.go(f"/workflow?run={asked.run_id}")
        await seen.accessible()
        await page.keyboard.press("j")
        await page.keyboard.press("2")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("text=An answer is stored")
        async with runner(Prompts(), place) as running:
            result = await (await running.resume(asked.run_id)).rest()
        assert result.result == "no"
        await page.wait_for_selector("text=completed")  # without a reload
        assert seen.errors == []


async def test_a_workflow_is_a_tree(stored: tuple[str, Any]) -> None:
    place, made = stored
    async with runner(Prompts(), place) as running:
        await running.run(script(_REPORT, "orders"))
    async with site(_source(made)) as seen:
        page = seen.page
        await page.get_by_role("link", name="Workflows").click()
        await page.wait_for_url("**/workflows")
        await seen.accessible()
        await page.locator("tbody a").click()
        await page.wait_for_url("**/workflow?**")
        await seen.accessible()
        assert await page.locator(".tree .status.ok").count() == 3
        assert await page.locator(".tree .status.failed").count() == 1
        await seen.picture("inspect-workflow.png", ".tree")
        assert seen.errors == []


async def test_a_replay_is_a_page_of_its_own(made: Any, tmp_path: Path) -> None:
    database_ = await asyncio.to_thread(database, tmp_path / "a.db", {"orders": [_ORDERS]})
    page_of = tmp_path / "orders.html"
    given = ["replay", "orders", "--checkpointer", database_, "--html", str(page_of)]
    async with site(_source(made)) as seen:
        done = await asyncio.create_subprocess_exec(sys.executable, "-m", "interpstack", *given)
        assert await done.wait() == 0
        await seen.page.goto(page_of.as_uri())
        shown = await seen.text()
        assert "tools.pay" in shown
        assert "guest computing" in shown
        await seen.accessible()
        await seen.picture("replay-page.png", "table")
        assert seen.errors == []


async def test_hostile_texts_stay_text() -> None:
    source = RecordSource({"<b>": [hostile_record()], "other": [record()]})
    async with site(source) as seen:
        page = seen.page
        await page.locator("tbody").get_by_role("link", name="<b>").click()
        await page.wait_for_url("**/conversation?**")
        await page.get_by_role("link", name="Eval 1").click()
        await page.wait_for_url("**/eval?**")
        shown = await page.evaluate("document.body.textContent")
        assert shown.count(HOSTILE_SEEN) >= 15
        assert await page.locator("img").count() == 0
        assert await page.locator("script").count() == 1
        await seen.accessible()
        await page.goto(f"{seen.address}/compare?run=%3Cb%3E&eval=1&run=other&eval=1")
        shown = await page.evaluate("document.body.textContent")
        assert shown.count(HOSTILE_SEEN) >= 8
        assert await page.locator("img").count() == 0
        await seen.accessible()
        assert seen.errors == []


async def test_a_used_link_and_another_browser_see_nothing(made: Any) -> None:
    await made.ainvoke(turn("'secret'"), config())
    async with site(_source(made)) as seen:
        other = await seen.page.context.browser.new_page()
        for path in (seen.links[0], f"{seen.address}/", f"{seen.address}/open?token=wrong"):
            answer = await other.goto(path)
            assert answer.status == 401
            assert "secret" not in await other.inner_text("body")
        await other.goto(seen.links[1])
        await other.wait_for_url("**/")
        assert "The conversation that changed last" in await other.inner_text("body")


class _OtherPage(BaseHTTPRequestHandler):
    """A page of another origin on this machine."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>other</title><body></body>")

    def log_message(self, *args: Any) -> None:
        """Nothing is to be logged."""


async def test_a_page_of_another_origin_can_neither_read_nor_send(made: Any) -> None:
    await made.ainvoke(turn(_ORDERS), config())
    other = ThreadingHTTPServer(("127.0.0.1", 0), _OtherPage)
    Thread(target=other.serve_forever, daemon=True).start()
    try:
        async with site(_source(made)) as seen:
            page = await seen.page.context.new_page()
            await page.goto(f"http://127.0.0.1:{other.server_port}/")
            read = """address => fetch(address, {credentials: "include"})
                .then(answer => answer.text(), error => error.name)"""
            assert await page.evaluate(read, seen.address) == "TypeError"
            frame = """address => new Promise(done => {
                const frame = document.createElement("iframe")
                frame.onload = () => done(frame.contentDocument === null)
                frame.src = address
                document.body.append(frame)
            })"""
            assert await page.evaluate(frame, seen.address)
            send = """address => {
                const form = document.createElement("form")
                form.method = "post"
                form.action = address
                document.body.append(form)
                form.submit()
            }"""
            async with page.expect_navigation() as sent:
                await page.evaluate(send, f"{seen.address}/answer?name=t")
            assert (await sent.value).status == 403
            assert PAID == []
    finally:
        other.shutdown()
        other.server_close()
