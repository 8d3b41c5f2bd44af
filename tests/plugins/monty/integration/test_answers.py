"""Answers of Monty that differ from CPython's, as the page on Python cells lists them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from interpstack import InterpreterStack, Session


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with InterpreterStack("monty") as stack, stack.session() as opened:
        yield opened


#: Expressions with Monty's answers.
ANSWERS = {
    "[list(n) + list(n) for n in [(n for n in [1])]]": "[[1, 1]]",
    "[list(n) + list(n) for n in [map(str, [1])]]": "[['1', '1']]",
    "[list(n) + list(n) for n in [filter(None, [1])]]": "[[1, 1]]",
    "[list(n) + list(n) for n in [zip([1])]]": "[[(1,), (1,)]]",
    "[list(n) + list(n) for n in [enumerate([1])]]": "[[(0, 1), (0, 1)]]",
    "[list(n) + list(n) for n in [reversed([1])]]": "[[1, 1]]",
    "round(2.675, 2)": "2.68",
    "{1: 'a', True: 'b'}": "{True: 'b'}",
    "[float('nan')] == [float('nan')]": "True",
    "float('nan') in [float('nan')]": "True",
    "len({float('nan'), float('nan')})": "1",
    "re.search('b$', 'ab\\n') is None": "True",
    "re.search('b\\\\Z', 'ab\\n') is None": "False",
    "re.findall('b*', 'abb')": "['', 'bb']",
    "re.sub('b*', '-', 'abc')": "-a-c-",
    "re.split('b*', 'abbc')": "['', 'a', 'c', '']",
}


@pytest.mark.parametrize(("source", "answer"), ANSWERS.items(), ids=list(ANSWERS))
def test_an_answer_differs_as_the_page_says(session: Session, source: str, answer: str) -> None:
    assert session.eval_sync(f"import re\n{source}").text == answer
    value = eval(source, {"re": re})
    assert answer != (value if isinstance(value, str) else repr(value))


CAUGHT = "try:\n    {}[1]\nexcept KeyError as error:\n    found = error.args\nfound"
SLOTS = "class A:\n    __slots__ = ('x',)\na = A()\na.y = 1\na.y"


@pytest.mark.parametrize(("cell", "answer"), [(CAUGHT, "('1',)"), (SLOTS, "1")])
def test_a_key_of_an_error_is_text_and_slots_have_no_effect(
    session: Session, cell: str, answer: str
) -> None:
    assert session.eval_sync(cell).text == answer


def test_a_list_takes_an_alignment(session: Session) -> None:
    assert session.eval_sync("f'{[1]:>5}'").text == "  [1]"
    with pytest.raises(TypeError):
        format([1], ">5")
