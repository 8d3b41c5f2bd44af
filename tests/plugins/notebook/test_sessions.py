"""The sessions of a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest

from interpstack import Cell, ConfigurationError, UnknownEngine, UnsupportedValue
from interpstack_notebook.sessions import NotebookSessions


@pytest.fixture
def sessions() -> Iterator[NotebookSessions]:
    made = NotebookSessions()
    yield made
    made.reset()


def run(sessions: NotebookSessions, source: str, engine: str = "quickjs") -> str:
    parts: list[str] = []
    outcome = sessions.of(engine).run(Cell(source=source), parts.append)
    assert outcome.error is None
    return "".join(parts) + outcome.text


def test_each_engine_has_one_session(sessions: NotebookSessions) -> None:
    run(sessions, "let a = 1; console.log('told')")
    assert run(sessions, "a") == "1"
    assert run(sessions, "a = 2", "monty") == "2"
    assert run(sessions, "a") == "1"
    sessions.reset("quickjs")
    assert run(sessions, "typeof a") in ('"undefined"', "undefined")
    assert run(sessions, "a", "monty") == "2"


def test_values_go_both_ways(sessions: NotebookSessions) -> None:
    guest = sessions.of("quickjs")
    guest.load({"rows": [{"n": 1}, {"n": 2}], "big": 2**70})
    assert run(sessions, "const doubled = rows.map(r => r.n * 2); doubled") == "[2, 4]"
    assert guest.last() == [2, 4]
    value, outcome = guest.take("doubled")
    assert (value, outcome.ok) == ([2, 4], True)
    _, outcome = guest.take("missing")
    assert outcome.error is not None
    assert outcome.error.name == "ReferenceError"
    with pytest.raises(UnsupportedValue):
        guest.load({"x": object()})


def test_a_variable_that_code_would_not_see_is_refused(sessions: NotebookSessions) -> None:
    guest = sessions.of("quickjs")
    guest.load({"tools": 1})
    assert run(sessions, "tools") == "1"
    guest.offer({"one": lambda: 1})
    for name in ("tools", "notebook", "undefined", "NaN", "Infinity"):
        with pytest.raises(ConfigurationError, match=f"a variable {name}: the name stands for"):
            guest.load({"other": 1, name: 7})
    assert run(sessions, "typeof other") == "undefined"
    sessions.of("monty").load({"undefined": 7})
    assert run(sessions, "undefined", "monty") == "7"


def test_rounded_times_are_named(sessions: NotebookSessions) -> None:
    noon = datetime(2024, 1, 1, 12)
    fine = noon + timedelta(microseconds=1500)
    guest = sessions.of("quickjs")
    assert guest.load({"noon": noon, "rows": [{"at": noon + timedelta(milliseconds=5)}]}) == ()
    (notice,) = guest.load({"noon": noon, "rows": [{"at": noon}, {"at": fine}]})
    assert notice == "rows: points in time are rounded, as JavaScript has none as fine."
    assert run(sessions, "rows[1].at.toISOString()") == "2024-01-01T12:00:00.001Z"
    assert sessions.of("monty").load({"rows": [fine]}) == ()
    assert run(sessions, "rows[0].microsecond", "monty") == "1500"


def test_functions_stay_until_the_reset(sessions: NotebookSessions) -> None:
    sessions.of("quickjs").offer({"one": lambda: 1})
    sessions.of("quickjs").offer({"two": lambda: 2})
    assert run(sessions, "(await tools.one({})) + (await tools.two({}))") == "3"
    sessions.reset()
    assert run(sessions, "typeof tools") in ('"undefined"', "undefined")


def test_an_engine_that_cannot_be_stopped_gets_a_process(sessions: NotebookSessions) -> None:
    assert sessions.of("v8").stack.engine.name == "process:v8"
    with pytest.raises(UnknownEngine):
        sessions.of("nope")


def test_languages_are_known_by_their_short_names(sessions: NotebookSessions) -> None:
    guest = sessions.of("quickjs")
    assert (guest.language_named("js"), guest.language_named("ts")) == ("javascript", "typescript")
    with pytest.raises(ConfigurationError, match="'monty' runs Python, not the language of %%js"):
        sessions.of("monty").language_named("js")
