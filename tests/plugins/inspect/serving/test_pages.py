"""The pages: what each shows, what is hostile stays text, and what cannot be shown says why."""

from __future__ import annotations

import attrs
import pytest
from inspected import (
    HOSTILE,
    HOSTILE_SEEN,
    Page,
    RecordSource,
    Server,
    hostile_record,
    looked_at,
    record,
    summary,
)

from interpstack import ConfigurationError, InterpstackError
from interpstack_inspect.api import (
    AskedCall,
    ChatMessage,
    Conversation,
    Question,
    TokenUse,
    ToolUse,
)
from interpstack_inspect.serving import overview, pages

TAGS = {
    "html", "head", "meta", "title", "link", "script", "body", "a", "header", "p", "span", "bdi",
    "main", "h1", "h2", "h3", "form", "label", "input", "button", "output", "div", "table",
    "caption", "thead", "tbody", "tr", "th", "td", "nav", "ol", "ul", "li", "section", "blockquote",
    "pre", "dl", "dt", "dd", "code", "strong", "details", "summary", "svg", "rect",
    "mark", "br", "fieldset", "legend", "time", "dialog", "kbd", "article", "textarea", "em",
}  # fmt: skip


async def test_from_the_list_to_an_eval() -> None:
    source = RecordSource({"a/b?c": [record(), record(summary=summary(number=2, status="paused"))]})
    async with Server.of(source).browser() as client:
        listed = await looked_at(client, "/")
        assert "waits for a person" in listed.words
        assert "2026-01-02 03:04:05 UTC" in listed.words
        assert {"datetime": "2026-01-02T03:04:05.678+00:00"} in listed.of("time")
        (link,) = [link for link in listed.links if link.startswith("/conversation")]
        one = await looked_at(client, link)
        assert "input of a/b?c" in one.words
        links = [link for link in one.links if link.startswith("/eval")]
        page = await looked_at(client, links[1])
        assert "Eval 2 of a/b?c" in page.words
        assert "paused" in page.words


async def test_everything_of_an_eval_is_shown() -> None:
    async with Server.of(RecordSource()).browser() as client:
        page = await looked_at(client, "/eval?name=t&number=1")
    for text in (
        "state ended", "engine quickjs", "variables 12,345 bytes", "stored 678 bytes",
        "drawn: tokens 12", "Note: a note", "1 call of tools.pay", "3 entries in 1.250 seconds",
        "0.000 s 0.250 s guest computing", "The guest computed for 0.250 s, once. The host's clock",
        "decision approve", "waits for approval of pay", "Console paid <b>", "Result receipt",
        'x new "receipt"', "y changed 1 2", "z gone 1",
    ):  # fmt: skip
        assert text in page.words, text
    assert [given["id"] for given in page.of("li") if "id" in given] == ["line-1", "line-2"]
    assert "#line-1" in page.links
    assert "does not say which line" not in page.words


async def test_an_eval_of_which_little_is_recorded() -> None:
    empty = record(
        events=[], computing=[], answer=None, bindings=None, notes=[], summary=summary(code="a\na")
    )
    source = RecordSource({"t": [empty, attrs.evolve(empty, answer="", bindings=[])]})
    async with Server.of(source).browser() as client:
        words = (await looked_at(client, "/eval?name=t&number=1")).words
        assert "No calls are recorded." in words
        assert "The eval has no output yet." in words
        assert "No variables are recorded with this eval." in words
        words = (await looked_at(client, "/eval?name=t&number=2")).words
        assert "The output is empty." in words
        assert "None of the recorded variables is portable." in words


async def test_a_record_without_the_time_of_its_calls_says_so() -> None:
    async with Server.of(RecordSource({"t": [record(computing=[])]})).browser() as client:
        page = await looked_at(client, "/eval?name=t&number=1")
    assert "2 entries in 1.250 seconds" in page.words
    assert "The record does not say when the guest computed" in page.words


async def test_nothing_of_a_guest_becomes_markup() -> None:
    said = ChatMessage(
        author=HOSTILE,
        text=HOSTILE,
        graph=HOSTILE,
        model=HOSTILE,
        use=TokenUse(unpriced=(HOSTILE,)),
    )
    called = ToolUse(name=HOSTILE, args=HOSTILE, graph=HOSTILE, result=HOSTILE, failed=True)
    asked = AskedCall(
        name=HOSTILE, args=HOSTILE, description=HOSTILE, allowed=[HOSTILE], refused=HOSTILE
    )
    source = RecordSource(
        {HOSTILE: [hostile_record()]},
        before={HOSTILE: [said, called]},
        problems={HOSTILE: HOSTILE},
        questions={
            HOSTILE: [
                Question(id=HOSTILE, digest=HOSTILE, calls=[asked], still_running=[HOSTILE]),
                Question(id=HOSTILE, digest=HOSTILE, text=HOSTILE, choices=[HOSTILE]),
            ]
        },
    )
    async with Server.of(source).browser() as client:
        listed = await looked_at(client, "/", 200)
        *_, link = [link for link in listed.links if link.startswith("/conversation")]
        one = await looked_at(client, link)
        (link,) = [link for link in one.links if link.startswith("/eval")]
        assert one.text.count(HOSTILE_SEEN) >= 14
        page = await looked_at(client, link)
        compared = await looked_at(client, one.links[-1] + "&eval=1&eval=1")
        missing = await looked_at(client, link.replace("number=1", "number=2"), 404)
        search = await client.get("/", params={"containing": HOSTILE})
    searched = Page(search.text)
    assert searched.of("input")[0]["value"] == HOSTILE_SEEN
    for each in (listed, one, page, compared, missing, searched):
        assert {tag for tag, _ in each.elements} <= TAGS
        assert not any(name.startswith("on") for _, given in each.elements for name in given)
        assert HOSTILE_SEEN in each.text or each is missing
    assert page.text.count(HOSTILE_SEEN) >= 15


async def test_many_conversations_are_listed_in_pages() -> None:
    source = RecordSource({f"t{number:03}": [record()] for number in range(125)})
    async with Server.of(source).browser() as client:
        first = await looked_at(client, "/")
        assert len(first.of("tr")) == 51
        assert "Newer conversations" not in first.words
        second = await looked_at(client, "/?containing=&skip=50")
        assert "t050" in second.words
        assert "Older conversations" in second.words
        last = await looked_at(client, "/?skip=100")
        assert len(last.of("tr")) == 26
        assert "Older conversations" not in last.words
        found = await looked_at(client, "/?containing=T007")
        assert len(found.of("tr")) == 2
        assert (
            "No conversation has such a name." in (await looked_at(client, "/?containing=x")).words
        )


async def test_an_empty_place_says_so() -> None:
    async with Server.of(RecordSource({})).browser() as client:
        assert "There are no conversations yet." in (await looked_at(client, "/")).words


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/gone", 404, "There is no such page."),
        ("/conversation?name=gone", 404, "there is no conversation 'gone'"),
        ("/conversation", 400, "must name a conversation"),
        (f"/conversation?name={'x' * 2001}", 400, "must name a conversation"),
        ("/eval?name=t&number=7", 404, "there is no eval 7"),
        ("/eval?name=t", 400, "takes a number"),
        ("/eval?name=t&number=-1", 400, "takes a number"),
        ("/eval?name=t&number=1234567890", 400, "takes a number"),
        ("/?skip=%C2%B2", 400, "takes a number"),
        ("/?only=odd", 400, "takes one of: waits, failed, expensive"),
        ("/static/../api.py", 404, "There is no such page."),
        ("/static/records.css", 404, "There is no such page."),
    ],
)
async def test_what_cannot_be_shown_says_why(path: str, status: int, text: str) -> None:
    async with Server.of(RecordSource()).browser() as client:
        assert text in (await looked_at(client, path, status)).words


@pytest.mark.parametrize("problem", [ConfigurationError, InterpstackError])
async def test_a_place_that_cannot_be_read_says_why_and_is_looked_at_again(
    problem: type[InterpstackError],
) -> None:
    source = RecordSource(problem=problem("the database is locked"))
    async with Server.of(source).browser() as client:
        for path in ("/", "/conversation?name=t", "/eval?name=t&number=1"):
            page = await looked_at(client, path, 503)
            assert "the database is locked" in page.words
            assert "Nothing was changed. Reload this page" in page.words
        source.problem = None
        assert (await client.get("/")).status_code == 200


async def test_a_record_that_no_page_can_show_is_a_page_that_says_so() -> None:
    source = RecordSource({"t": [record(drawn={"tokens": "many"})]})
    server = Server.of(source)
    async with server.browser() as client, server.client(raises=False) as careless:
        careless.cookies.update(client.cookies)
        page = await looked_at(careless, "/eval?name=t&number=1", 500)
        assert "the record may be damaged" in page.words


async def test_a_page_says_what_it_follows_and_which_version_it_shows() -> None:
    async with Server.of(RecordSource()).browser() as client:
        for path in ("/conversation?name=t", "/eval?name=t&number=1"):
            (main,) = (await looked_at(client, path)).of("main")
            assert (main["data-live"], main["data-version"]) == ("/changes?name=t", "1")
        (main,) = (await looked_at(client, "/")).of("main")
        assert main["data-live"] == "/changes"


async def test_more_pages_than_can_be_followed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_STREAMS", 0)
    async with Server.of(RecordSource()).browser() as client:
        answer = await client.get("/changes?name=t")
        assert answer.status_code == 503
        assert "0 other pages are live already" in answer.text


async def test_a_page_cannot_be_written() -> None:
    async with Server.of(RecordSource()).browser() as client:
        answer = await client.post("/", headers={"origin": "http://127.0.0.1:4747"})
        assert answer.status_code == 405


async def test_a_link_leads_to_the_list() -> None:
    server = Server.of(RecordSource())
    async with server.client() as client:
        page = await looked_at(client, f"/open?token={server.tokens[0]}")
        assert page.links[-1] == "/"
        assert {"http-equiv": "refresh", "content": "0;url=/"} in page.of("meta")
        assert (await client.get("/")).status_code == 200
        wrong = await looked_at(client, "/open", 401)
        assert "This link was used, or is incomplete" in wrong.words


async def test_a_conversation_is_shown_whole_with_tokens_cost_and_reasons() -> None:
    use = TokenUse(input_tokens=1200, output_tokens=30, cached_tokens=200, cost=0.0123)
    source = RecordSource(
        {"t": [record(summary=summary(status="failed", reason="TypeError: no such order"))]},
        before={
            "t": [
                ChatMessage(author="agent", text="I look first.", model="acme-1", use=use),
                ToolUse(name="search", args='{"q": 1}', result="no network", failed=True),
                ChatMessage(author="agent", text="", use=TokenUse(unpriced=("acme-2",))),
            ]
        },
        problems={"t": "ConnectionError: gone"},
    )
    async with Server.of(source).browser() as client:
        page = await looked_at(client, "/conversation?name=t")
        for text in (
            "Person input of t", "Agent acme-1 1,200 input (200 cached) + 30 output tokens, cost "
            "0.0123 I look first.", "search failed no network", "failed 1 call",
            "TypeError: no such order", "The run ended with an error: ConnectionError: gone",
            "failures 3", "The cost of acme-2 is not known and not included.",
        ):  # fmt: skip
            assert text in page.words, text
        listed = await looked_at(client, "/")
        assert "3 failures ConnectionError: gone 1 1,230 0.0123" in listed.words
        assert "input of t" in listed.words
        eval_ = await looked_at(client, "/eval?name=t&number=1")
        assert "Reason: TypeError: no such order" in eval_.words


async def test_filters_find_failed_and_expensive_conversations() -> None:
    def said(tokens: int, cost: float | None) -> ChatMessage:
        return ChatMessage(author="agent", text="x", use=TokenUse(input_tokens=tokens, cost=cost))

    source = RecordSource(
        {name: [record()] for name in ("cheap", "dear", "free", "fails")},
        before={"cheap": [said(900, 0.1)], "dear": [said(10, 0.5)]},
        problems={"fails": "Error: no"},
    )
    async with Server.of(source).browser() as client:
        words = (await looked_at(client, "/?only=expensive")).words
        assert words.index("dear") < words.index("cheap")
        assert "Compare free" not in words
        assert "All 4 conversations were read." in words
        page = await looked_at(client, "/?only=failed")
        assert [one for one in page.links if one.startswith("/conversation")] == [
            "/conversation?name=fails"
        ]
        empty = await looked_at(client, "/?only=failed&containing=cheap")
        assert "No conversation has such a name and fits the filter." in empty.words


async def test_a_filter_reads_for_a_bounded_time_and_goes_on_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overview, "_READ_SECONDS", 0.0)
    async with Server.of(RecordSource()).browser() as client:
        words = (await looked_at(client, "/?only=failed")).words
        assert "The newest 0 conversations were read; reload the page to read more." in words


async def test_a_conversation_that_cannot_be_read_hides_no_other() -> None:
    class Damaged(RecordSource):
        async def conversation(self, name: str) -> Conversation:
            if name == "bad":
                raise ConfigurationError("conversation 'bad': a value is damaged")
            return await super().conversation(name)

    async with Server.of(Damaged({"good": [record()], "bad": [record()]})).browser() as client:
        words = (await looked_at(client, "/")).words
        assert "input of good" in words
        assert "1 failure conversation 'bad': a value is damaged" in words


async def test_open_questions_are_on_the_first_page() -> None:
    asked = AskedCall(name="pay", args='{"to": "Ann"}', allowed=["approve"])
    source = RecordSource(
        {"a": [record()], "b": [record()]},
        questions={"a": [Question(id="q", digest="d", calls=[asked])]},
    )
    async with Server.of(source).browser() as client:
        page = await looked_at(client, "/")
        assert "Open questions 1" in page.words
        assert "Call 1 of 1: pay" in page.words
        assert "interpstack inspect MODULE:ATTR" in page.words  # this source takes no answers
        first = page.of("main")[0]["data-version"]
        source.questions["a"] = []
        source.evals["a"].append(record())
        page = await looked_at(client, "/")
        assert "Open questions" not in page.words
        assert page.of("main")[0]["data-version"] != first
