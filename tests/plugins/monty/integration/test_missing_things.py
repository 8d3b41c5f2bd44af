"""Python that names what is not there: the answer says what is missing, and what is there instead."""

# ruff: noqa: E501 - tables of cells and answers read best unbroken

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest
from missing_things import SEARCHES, message_of

from interpstack import InterpreterStack, Session
from interpstack_monty.running.advice import MODULES

HITS = """
hits = [{'title': 'a', 'score': 1}, {'title': 'b', 'score': 2}]
rows, res, text, none = hits, {'data': {}}, '{"a": 1}', None
"""


@pytest.fixture
def session() -> Iterator[Session]:
    with InterpreterStack("monty", bridges=SEARCHES) as stack:
        session = stack.session("one")
        assert session.eval_sync(HITS).error is None
        yield session


async def test_python_names_what_is_missing(session: Session) -> None:
    title = "titel: hits[0] has no 'titel'; it has title, score"
    for source, said in {
        "hits[0]['titel']": title,
        "x = 1\ny = (\n  hits[0]\n  ['titel'])": title,
        "[r['titel'] for r in hits]": title,
        "for r in hits:\n    r['titel']": title,
        "for n, r in enumerate(hits):\n    r['titel']": title,
        "sorted(hits, key=lambda r: r['titel'])": title,
        "def g(h):\n    return h['titel']\ng(hits[0])": "titel: h has no 'titel'",
        "hits[0].title": "hits[0] is a dict; write hits[0]['title']",
        "hits[0].titel": "hits[0] is a dict; write hits[0]['key']; it has title, score",
        "hits[0].itmes()": "hits[0] is a dict; did you mean items?",
        "hits['results']": "hits is a list of 2; it has no 'results'",
        "hits.length": "hits is a list of 2; write len(hits)",
        "hits[5]['title']": "hits is a list of 2; it has no [5]",
        "res['data']['items'][0]": "res['data'] has no 'items'; it is an empty dict",
        "res['data'].get('items')[0]": "res['data'] has no 'items'; it is an empty dict",
        "none['a']": "none is None",
        "hits[0]['title'].uper()": "hits[0]['title'] is a str; it has no 'uper'; did you mean upper?",
        "text['a']": "text is a str; it has no 'a'; json.loads(text) reads it",
        "tools.search(q='a')[0]": "tools.search(…) was not awaited; write (await tools.search(…))",
        "await tools.sarch(q='a')": "tools has no 'sarch'; did you mean tools.search?",
        "sqlQuery(query='x')": "did you mean tools.sqlQuery?",
        "await sql_query(query='x')": "did you mean tools.sqlQuery?",
        "rowz": "did you mean rows?",
        "x = null": "in Python: None",
        "true": "in Python: True",
        "console.log(1)": "print(value) prints",
        "JSON.stringify(hits)": "in Python: import json, then json.loads(text) and json.dumps(value)",
        "math.sqrt(2)": "write import math first",
        "open('a')": "there is no file system here; on offer: tools.sqlQuery, tools.search",
        "import requests": "there is no network here; on offer: tools.sqlQuery, tools.search",
        "requests.get('a')": "there is no network here; on offer: tools.sqlQuery, tools.search",
        "import pandas as pd": "tomllib, typing, unicodedata",
    }.items():
        message = await message_of(session, source)
        assert message.endswith(said), source


async def test_a_session_whose_kernel_was_replaced_keeps_its_errors(session: Session) -> None:
    assert (await session.eval("len = list = type = None")).error is None
    assert (await message_of(session, "hits[0]['titel']")).endswith("it has title, score")
    big = "m" * 10_000
    assert len(await message_of(session, f"hits[0]['{big}']")) < 10_500
    assert (await message_of(session, "raise KeyError('titel')")) == "titel"


def test_the_modules_are_those_that_the_prompt_names() -> None:
    prompt = (files("interpstack_monty") / "prompt.md").read_text("utf-8")
    listed = prompt.partition("can be imported: ")[2].partition(".")[0]
    assert frozenset(re.split(r",\s*", listed)) == MODULES
