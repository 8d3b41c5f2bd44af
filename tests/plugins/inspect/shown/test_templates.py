"""Templates: everything put into one stays text."""

from __future__ import annotations

import sys

import pytest
from inspected import HOSTILE, HOSTILE_SEEN, Page

from interpstack import ConfigurationError
from interpstack_inspect.shown.templates import record_style, static_file, templates


def test_values_stay_text() -> None:
    made = templates().from_string('<p title="{{ text }}">{{ text }}</p>').render(text=HOSTILE)
    page = Page(made)
    assert page.elements == [("p", {"title": HOSTILE_SEEN})]
    assert page.text == HOSTILE_SEEN


def test_a_value_that_is_not_there_is_an_error() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError):
        templates().from_string("{{ gone }}").render()


def test_another_package_has_its_own_templates_beside_these() -> None:
    made = templates("interpstack_langchain.replay.page")
    assert made.get_template("replay.html.jinja")
    assert made.get_template("timeline.html.jinja")


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigurationError, match=r"--html .*pip install 'interpstack\[replay\]'"):
        templates(needed_by="--html", extra="replay")


def test_styles_and_scripts_load_nothing_from_elsewhere() -> None:
    for text in (record_style(), static_file("inspect.css"), static_file("inspect.js")):
        assert text
        assert "http" not in text
        assert "url(" not in text
