"""Answers by the forms of a page: they need the browser's own token, and resume the agent once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from inspected import ADDRESS, Page, Server, looked_at
from inspected_agents import PAID, agent, config, database, source, turn
from langgraph.checkpoint.memory import InMemorySaver

from interpstack_langchain.inspecting.agents import AgentSource
from interpstack_langchain.inspecting.conversations import ReadingOptions

ORIGIN = {"origin": ADDRESS}
PAGE = "/conversation?name=t"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """An agent whose conversation `t` waits for the approval of two payments."""
    PAID.clear()
    made = agent(InMemorySaver())
    pays = "(await Promise.allSettled([1, 2].map(amount => tools.pay({amount})))).length"
    await made.ainvoke(turn(pays), config())
    there = AgentSource("tests:agent", made, ReadingOptions())
    await there.open()
    yield Server.of(there)
    await there.aclose()


async def shown_form(client: httpx.AsyncClient) -> dict[str, str]:
    """The hidden fields of the form on the page."""
    page = await looked_at(client, PAGE)
    return {
        str(given["name"]): str(given["value"])
        for given in page.of("input")
        if given.get("type") == "hidden"
    }


async def ended(client: httpx.AsyncClient) -> Page:
    for _ in range(3000):
        page = await looked_at(client, PAGE)
        if "The run continues" not in page.words:
            return page
        await asyncio.sleep(0.01)
    raise AssertionError("the run does not end")


async def sent(client: httpx.AsyncClient, form: dict[str, str], **given: Any) -> httpx.Response:
    return await client.post("/answer?name=t", data=form, headers=ORIGIN, **given)


async def test_calls_are_decided_one_by_one_and_the_page_shows_the_end(server: Server) -> None:
    async with server.browser() as client:
        page = await looked_at(client, PAGE)
        assert "Call 1 of 2: pay" in page.words
        assert len([given for given in page.of("input") if given.get("type") == "radio"]) == 8
        edit = {"decision-0": "edit", "args-0": '{"amount": 7}'}
        form = {**await shown_form(client), **edit, "decision-1": "reject", "message-1": "no"}
        answer = await sent(client, form)
        assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
        page = await ended(client)
        assert "Open questions" not in page.words
        assert PAID == [7]
        words = (await looked_at(client, "/eval?name=t&number=1")).words
        assert 'decision edit: pay({"amount": 7})' in words
        assert "decision reject: no" in words
        again = await sent(client, form)
        assert again.status_code == 409
        assert PAID == [7]


async def test_a_form_of_another_browser_or_page_does_nothing(server: Server) -> None:
    decided = {"decision-0": "approve", "decision-1": "approve"}
    async with server.browser() as one, server.browser() as other:
        form = {**await shown_form(one), **decided}
        for token in ("", "x", (await shown_form(other))["token"]):
            assert (await sent(one, {**form, "token": token})).status_code == 403
        assert (await one.post("/answer?name=t", data=form)).status_code == 403
        evil = {"origin": "http://evil.example"}
        assert (await one.post("/answer?name=t", data=form, headers=evil)).status_code == 403
        async with server.client() as stranger:
            assert (await sent(stranger, form)).status_code == 401
        assert (await one.get("/answer?name=t", params=form)).status_code == 405
        for wrong in ({"digest": "0"}, {"question": "0"}):
            assert (await sent(one, {**form, **wrong})).status_code == 409
        assert (await one.post("/answer?name=gone", data=form, headers=ORIGIN)).status_code == 404
        assert PAID == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "Choose a decision for call 1, pay."),
        ({"decision-0": "edit", "args-0": "{", "decision-1": "reject"}, "is not JSON"),
        ({"decision-0": "x" * 2**20}, "too large"),
        ({"decision-0": ["reject", "approve"], "decision-1": "approve"}, "has a field twice"),
    ],
)
async def test_a_form_that_is_not_complete_says_so(
    server: Server, fields: dict[str, Any], message: str
) -> None:
    async with server.browser() as client:
        answer = await sent(client, {**await shown_form(client), **fields})
        assert answer.status_code == 422
        assert message in Page(answer.text).words
        assert "Open questions" in (await looked_at(client, PAGE)).words
        assert PAID == []


async def test_a_decision_that_the_agent_refuses_leaves_the_question_open(server: Server) -> None:
    async with server.browser() as client:
        wrong = {"decision-0": "edit", "args-0": '{"amount": "much"}', "decision-1": "reject"}
        await sent(client, {**await shown_form(client), **wrong})
        page = await ended(client)
        assert "cannot be edited to this call of pay" in page.words
        assert "Open questions" in page.words
        assert PAID == []


async def test_a_refused_answer_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    PAID.clear()
    made = agent(InMemorySaver())
    await made.ainvoke(turn("await tools.pay({amount: 1})"), config())
    there = AgentSource("tests:agent", made, ReadingOptions())
    await there.open()
    async with Server.of(there).browser() as client:
        wrong = {"decision-0": "edit", "args-0": '{"amount": "much"}'}
        await sent(client, {**await shown_form(client), **wrong})
        assert "cannot be edited to this call of pay" in (await ended(client)).words
    await there.aclose()
    (logged,) = [record for record in caplog.records if record.name.startswith("interpstack")]
    assert logged.getMessage().startswith(
        "an answer in conversation 't' was refused: pay cannot be"
    )
    assert logged.exc_info is None
    assert PAID == []


async def test_of_two_people_who_decide_at_once_one_is_first(server: Server) -> None:
    decided = {"decision-0": "approve", "decision-1": "approve"}
    async with server.browser() as one, server.browser() as other:
        forms = [{**await shown_form(client), **decided} for client in (one, other)]
        answers = await asyncio.gather(sent(one, forms[0]), sent(other, forms[1]))
        assert sorted(answer.status_code for answer in answers) == [303, 409]
        await ended(one)
        assert sorted(PAID) == [1, 2]


async def test_a_database_shows_questions_and_takes_no_answer(tmp_path: Any) -> None:
    place = database(tmp_path / "a.db", {"t": ["await tools.pay({amount: 5})"]})
    async with Server.of(source(place)).browser() as client:
        page = await looked_at(client, PAGE)
        assert "Call 1 of 1: pay" in page.words
        assert "interpstack inspect MODULE:ATTR" in page.words
        assert [form["action"] for form in page.of("form") if "action" in form] == ["/compare"]
        assert page.of("textarea") == []
        assert (await sent(client, {})).status_code == 422
        assert (await sent(client, {"token": "x"})).status_code == 403
