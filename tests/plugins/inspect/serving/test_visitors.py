"""Visitors: links, cookies and the tokens of forms."""

from __future__ import annotations

import pytest

from interpstack_inspect.serving import visitors as module
from interpstack_inspect.serving.visitors import Visitors


@pytest.fixture
def tokens() -> list[str]:
    return []


@pytest.fixture
def visitors(tokens: list[str]) -> Visitors:
    made = Visitors(tokens.append)
    made.open()
    return made


def test_a_link_opens_one_browser_and_the_next_one_is_announced(
    visitors: Visitors, tokens: list[str]
) -> None:
    visitor = visitors.enter(tokens[0])
    assert visitor is not None
    assert visitors.of(visitor.cookie) is visitor
    assert visitors.enter(tokens[0]) is None
    other = visitors.enter(tokens[1])
    assert other is not None
    assert other.cookie != visitor.cookie
    assert visitors.of(visitor.cookie) is visitor
    assert len(set(tokens)) == 3


@pytest.mark.parametrize("token", ["", "wrong", "\u20ac", "\ud800"])
def test_another_token_opens_nothing(visitors: Visitors, tokens: list[str], token: str) -> None:
    assert visitors.enter(token) is None
    assert len(tokens) == 1
    assert visitors.enter(tokens[0]) is not None


def test_nothing_is_open_before_a_link_was_announced() -> None:
    assert Visitors([].append).enter("") is None


def test_the_oldest_browser_is_forgotten(
    visitors: Visitors, tokens: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST", 2)
    entered = [visitors.enter(tokens[-1]) for _ in range(3)]
    known = [one is not None and visitors.of(one.cookie) is one for one in entered]
    assert known == [False, True, True]


def test_a_form_carries_its_own_token(visitors: Visitors, tokens: list[str]) -> None:
    one, other = visitors.enter(tokens[-1]), visitors.enter(tokens[-1])
    assert one is not None
    assert other is not None
    assert one.sent(one.form_token)
    assert not any(one.sent(token) for token in ("", other.form_token, one.cookie, "\ud800"))
    assert one.cookie not in repr(one)
    assert one.form_token not in repr(one)
