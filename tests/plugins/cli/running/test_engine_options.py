"""Options of engines on the command line."""

from __future__ import annotations

import pytest

from interpstack import ConfigurationError
from interpstack_cli.running.engine_options import engine_options, engine_with
from interpstack_process.engine import ProcessEngine
from interpstack_quickjs.engine import QuickJSEngine


def test_values_are_json_or_text() -> None:
    given = ['dirs=["a", "b"]', "count=4", "path=/x/y", "flag=true", "text=a=b", "empty="]
    assert engine_options(given) == {
        "dirs": ["a", "b"],
        "count": 4,
        "path": "/x/y",
        "flag": True,
        "text": "a=b",
        "empty": "",
    }


@pytest.mark.parametrize("given", ["name", "=1", "a b=1", ""])
def test_other_forms_are_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match="takes NAME=VALUE"):
        engine_options([given])


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["workers=1", "workers=2"], "names workers twice; give it once"),
        (['env={"A": "1", "A": "2"}'], "env: an object names the field 'A' twice"),
    ],
)
def test_what_is_given_twice_is_refused(given: list[str], found: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^--engine-option {found}"):
        engine_options(given)


def test_a_value_that_is_nested_too_deeply_is_text() -> None:
    assert engine_options(["a=" + "[" * 100_000]) == {"a": "[" * 100_000}


def test_a_refused_value_says_how_values_are_written() -> None:
    text = r"keep_state takes True or False; got 'yes'\. Values are JSON, as in NAME=true, NAME=4"
    with pytest.raises(ConfigurationError, match=f"--engine-option: {text}"):
        engine_with(ProcessEngine.around(QuickJSEngine), {"keep_state": "yes"})


def test_an_unknown_option_names_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="engine 'quickjs' has no option 'nope'; it has:"):
        engine_with(QuickJSEngine, {"nope": 1})
