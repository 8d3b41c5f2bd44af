"""Replays as a web page: what it shows, and that nothing of a guest becomes markup."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import attrs
import pytest
from replayed import KEPT, OPEN, PAID, PAUSED, shown

from interpstack import ConfigurationError
from interpstack_langchain.replay.page.page import check_page, write_page
from interpstack_langchain.replay.timeline import RecordedCall

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7*7 }}&lt;\u202e\x00\ud800"


WORDS = (
    "Eval 3",
    "ended",
    "quickjs",
    "await tools.pay()",
    "approve",
    "approval of pay",
    "not answered",
    "a note",
    "the code has not received this answer",
    "Error: no",
)


class Parsed(HTMLParser):
    """The elements and the texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [given for name, given in self.elements if name == tag]


def page(tmp_path: Path, *evals: Any, thread: str = "t") -> str:
    path = tmp_path / "replay.html"
    write_page(path, thread, evals)
    return path.read_text("utf-8")


def test_calls_pauses_and_the_answer_are_shown(tmp_path: Path) -> None:
    failed = attrs.evolve(OPEN, id=4, answered=2.5, step=2, answer="Error: no", failed=True)
    one = shown(PAID, PAUSED, OPEN, KEPT, failed, code="await tools.pay()", notes=["a note"])
    parsed = Parsed(page(tmp_path, one))
    reply = " ".join(parsed.text.split())
    assert all(text in reply for text in WORDS)
    bars = [(float(one["x"] or 0), float(one["width"] or 0)) for one in parsed.of("rect")]
    assert bars[0] == (0.0, 500.0)  # 1.25 of 2.5 seconds
    assert bars[1] == (500.0, 4.0)  # a moment is seen, too
    assert bars[2] == bars[-1] == (500.0, 500.0)  # what is open goes on to the end
    assert "0.000 s" in reply
    assert "Recorded answer" not in reply
    assert "Recorded answer" in page(tmp_path, shown(answer="3"))


def test_an_eval_without_calls_and_several_evals(tmp_path: Path) -> None:
    text = page(tmp_path, shown(), shown(PAID))
    assert "No calls are recorded." in text
    assert [given["href"] for given in Parsed(text).of("a")] == ["#eval-3", "#eval-3"]
    assert Parsed(page(tmp_path, shown())).of("a") == []


def test_nothing_of_a_guest_becomes_markup(tmp_path: Path) -> None:
    call = RecordedCall(
        id=1, bridge=HOSTILE, input=HOSTILE, asked=0.0, step=1, answered=0.0, answer=HOSTILE,
        failed=True, decisions=[HOSTILE],
    )  # fmt: skip
    pause = attrs.evolve(PAUSED, waits_for=[HOSTILE])
    fields = {"text": HOSTILE, "answer": HOSTILE + "!", "notes": [HOSTILE], "engine": HOSTILE}
    hostile = shown(call, pause, code=HOSTILE, chars=10_000, **fields)
    text = page(tmp_path, hostile, thread=HOSTILE)
    parsed = Parsed(text)
    assert {tag for tag, _ in parsed.elements} <= {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "bdi", "main", "article",
        "h2", "h3", "dl", "div", "dt", "dd", "pre", "code", "span", "table", "caption", "thead",
        "tbody", "tr", "th", "td", "svg", "rect", "details", "summary", "p", "strong",
    }  # fmt: skip
    assert not any(name.startswith("on") for _, given in parsed.elements for name in given)
    seen = HOSTILE.replace("\u202e", "\\u202e").replace("\x00", "\\u0000")
    seen = seen.replace("\ud800", "\\ud800")
    assert parsed.text.count(seen) >= 9


def test_the_policy_allows_this_style_and_nothing_else(tmp_path: Path) -> None:
    text = page(tmp_path, shown(PAID))
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert style is not None
    assert policy is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy[1] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"https?://|style=|url\(", text)


def test_a_language_without_a_lexer_is_plain_text(tmp_path: Path) -> None:
    assert "a &lt; b" in page(tmp_path, shown(code="a < b", language="made up"))


def test_what_cannot_be_written_is_reported_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="there is no folder"):
        check_page(tmp_path / "gone" / "page.html")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_page(tmp_path, "t", [])
    check_page(tmp_path / "page.html")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'interpstack\[replay\]'"):
        check_page(tmp_path / "page.html")
