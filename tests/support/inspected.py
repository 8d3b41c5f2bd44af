"""Records made by hand, a source that has them, and a client that looks at their pages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from typing import Any, Final

import attrs
import httpx

from interpstack_inspect.api import (
    Binding,
    Computing,
    Conversation,
    ConversationRow,
    EvalRecord,
    EvalSummary,
    InnerCall,
    NotRecorded,
    PauseEvent,
    Question,
    RunSource,
    Turn,
    TurnEntry,
)
from interpstack_inspect.serving.pages import inspector
from interpstack_inspect.serving.visitors import Visitors

ADDRESS: Final = "http://127.0.0.1:4747"
HOSTILE: Final = (
    "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\"'{{ 7*7 }}&lt;\u202e\x00"
)
#: The same as a reader sees it.
HOSTILE_SEEN: Final = HOSTILE.replace("\u202e", "\\u202e").replace("\x00", "\\u0000")


def summary(**given: Any) -> EvalSummary:
    fields: dict[str, Any] = {
        "number": 1,
        "tool": "eval",
        "call_id": "call 1",
        "graph": "",
        "began": "2026-01-02T03:04:05.678901+00:00",
        "status": "ended",
        "code": "const x = await tools.pay({to: 'Ann'})\nx",
        "calls": 1,
        "seconds": 1.25,
    }
    return EvalSummary(**{**fields, **given})


def record(**given: Any) -> EvalRecord:
    fields: dict[str, Any] = {
        "summary": summary(),
        "language": "javascript",
        "engine": "quickjs",
        "events": [
            InnerCall(
                id=1,
                bridge="tools.pay",
                input='{"to":"Ann"}',
                asked=0.25,
                answered=1.25,
                answer='"receipt"',
                decisions=["approve"],
            ),
            PauseEvent(number=1, at=0.5, waits_for=["approval of pay"], resumed=True),
        ],
        "computing": [Computing(began=0.0, ended=0.25)],
        "answer": "<stdout>\npaid &lt;b&gt;\n</stdout>\n<result>receipt</result>",
        "bindings": [
            Binding(name="x", before=None, after='"receipt"'),
            Binding(name="y", before="1", after="2"),
            Binding(name="z", before="1", after=None),
        ],
        "state_bytes": 12345,
        "stored_bytes": 678,
        "drawn": {"tokens": 12.0},
        "notes": ["a note"],
    }
    return EvalRecord(**{**fields, **given})


def hostile_record() -> EvalRecord:
    """A record in which every text is hostile."""
    call = InnerCall(
        id=1,
        bridge=HOSTILE,
        input=HOSTILE,
        asked=0.0,
        answered=0.0,
        answer=HOSTILE,
        failed=True,
        decisions=[HOSTILE],
    )
    return record(
        summary=summary(
            code=HOSTILE,
            tool=HOSTILE,
            call_id=HOSTILE,
            graph=HOSTILE,
            status=HOSTILE,
            reason=HOSTILE,
        ),
        language=HOSTILE,
        engine=HOSTILE,
        events=[call, PauseEvent(number=1, at=0.0, waits_for=[HOSTILE], resumed=False)],
        answer=HOSTILE,
        bindings=[Binding(name=HOSTILE, before=HOSTILE, after=HOSTILE)],
        drawn={HOSTILE: 1.0},
        notes=[HOSTILE],
    )


@attrs.define(eq=False)
class RecordSource(RunSource):
    """A source with one conversation for each of its evals.

    Attributes:
        evals: Evals by the name of their conversation.
        problem: Raised by every look, if there is one.
        before: Entries before the evals, by the name of the conversation.
        problems: Errors that ended the run, by the name of the conversation.
        questions: Open questions, by the name of the conversation.
    """

    evals: dict[str, list[EvalRecord]] = attrs.field(factory=lambda: {"t": [record()]})
    problem: Exception | None = None
    before: dict[str, list[TurnEntry]] = attrs.field(factory=dict)
    problems: dict[str, str] = attrs.field(factory=dict)
    questions: dict[str, list[Question]] = attrs.field(factory=dict)

    @property
    def title(self) -> str:
        return "records"

    async def conversations(
        self, *, containing: str = "", waiting: bool = False, limit: int = 100, skip: int = 0
    ) -> Sequence[ConversationRow]:
        self._look()
        rows = [
            ConversationRow(
                name=name, changed=evals[-1].summary.began, waits=True, version=str(len(evals))
            )
            for name, evals in self.evals.items()
            if containing.lower() in name.lower()
        ]
        return rows[skip : skip + limit]

    async def conversation(self, name: str) -> Conversation:
        self._look()
        if name not in self.evals:
            raise NotRecorded(f"there is no conversation {name!r}")
        evals = [one.summary for one in self.evals[name]]
        turn = Turn(
            number=1,
            began=evals[0].began,
            text=f"input of {name}",
            entries=[*self.before.get(name, ()), *evals],
            problem=self.problems.get(name, ""),
        )
        return Conversation(name=name, turns=[turn], questions=self.questions.get(name, ()))

    async def version(self, name: str) -> str:
        self._look()
        return str(len(self.evals.get(name, ())))

    async def eval(self, name: str, number: int) -> EvalRecord:
        self._look()
        found = self.evals.get(name, [])
        if not 0 < number <= len(found):
            raise NotRecorded(f"there is no eval {number}")
        return found[number - 1]

    def _look(self) -> None:
        if self.problem is not None:
            raise self.problem


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._parted = ""
        self.feed(page)
        self.words = " ".join(self._parted.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._parted += "" if tag == "span" else " "  # parts of code are spans

    def handle_data(self, data: str) -> None:
        self.text += data
        self._parted += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [given for name, given in self.elements if name == tag]

    @property
    def links(self) -> list[str]:
        return [given["href"] or "" for given in self.of("a") if "href" in given]


@attrs.define(eq=False)
class Server:
    """An inspector that is served to clients in this process.

    Attributes:
        app: The application.
        tokens: The tokens that it announced.
    """

    app: Any
    tokens: list[str]

    @classmethod
    def of(cls, source: RunSource) -> Server:
        tokens: list[str] = []
        visitors = Visitors(tokens.append)
        made = cls(inspector(source, visitors), tokens)
        visitors.open()
        return made

    def client(self, address: str = ADDRESS, *, raises: bool = True) -> httpx.AsyncClient:
        """A browser that has opened nothing yet; a fault of the server is raised, or a page."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=raises)
        return httpx.AsyncClient(transport=transport, base_url=address)

    @asynccontextmanager
    async def browser(self) -> AsyncIterator[httpx.AsyncClient]:
        """A browser that has followed the newest link."""
        async with self.client() as client:
            opened = await client.get("/open", params={"token": self.tokens[-1]})
            assert opened.status_code == 200, opened.text
            yield client


async def looked_at(client: httpx.AsyncClient, path: str, status: int = 200) -> Page:
    """A page, which has no script or style of its own."""
    answer = await client.get(path)
    assert answer.status_code == status, answer.text
    page = Page(answer.text)
    assert not re.search(r"<style|style=|javascript:", answer.text)
    assert [given.get("src") for given in page.of("script")] == ["/static/inspect.js"]
    return page
