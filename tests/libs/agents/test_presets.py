"""Presets are values: each change makes a new one, and each slip says what there is."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import ConfigurationError
from interpstack_agents import Preset

MADE = Preset(["persistence", "console", "ptc", "skills"])


class Audit:
    name = "audit"


def test_a_change_leaves_the_preset_as_it_was() -> None:
    assert MADE.without("skills").names == ("persistence", "console", "ptc")
    assert MADE.names == ("persistence", "console", "ptc", "skills")


def test_several_are_left_out_at_once() -> None:
    assert MADE.without("skills", "console").names == ("persistence", "ptc")


def test_what_replaces_a_plugin_takes_its_place_and_its_role() -> None:
    made = MADE.replace("ptc", "my-ptc")
    assert made.names == ("persistence", "console", "my-ptc", "skills")
    assert "ptc" in made
    assert "my-ptc" in made
    assert made.without("ptc").names == made.without("my-ptc").names
    assert made.replace("ptc", "ptc").names == MADE.names


def test_an_object_is_a_plugin_too() -> None:
    audit = Audit()
    assert MADE.replace("console", audit).plugins == ("persistence", audit, "ptc", "skills")


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ({}, ("persistence", "console", "ptc", "skills", "audit")),
        ({"before": "persistence"}, ("audit", "persistence", "console", "ptc", "skills")),
        ({"before": "ptc"}, ("persistence", "console", "audit", "ptc", "skills")),
        ({"after": "ptc"}, ("persistence", "console", "ptc", "audit", "skills")),
        ({"after": "skills"}, ("persistence", "console", "ptc", "skills", "audit")),
    ],
)
def test_a_plugin_is_added_where_it_is_wanted(place: Any, names: tuple[str, ...]) -> None:
    assert MADE.with_("audit", **place).names == names


def test_a_plugin_of_the_preset_moves() -> None:
    assert MADE.with_("skills", before="console").names == (
        "persistence",
        "skills",
        "console",
        "ptc",
    )
    moved = MADE.replace("ptc", "my-ptc").with_("ptc", after="skills")
    assert moved.names == ("persistence", "console", "skills", "my-ptc")
    assert "ptc" in moved


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda: MADE.without("skill"),
            "no plugin 'skill'; it has: persistence, console, ptc, skills; did you mean 'skills'?",
        ),
        (lambda: MADE.replace("my-ptc", "x"), "no plugin 'my-ptc'; it has: persistence"),
        (lambda: MADE.with_("x", before="consle"), "did you mean 'console'?"),
        (lambda: MADE.with_("x", before="ptc", after="console"), "before= or after=, not both"),
        (lambda: MADE.with_("ptc"), "the preset has 'ptc' already; list it once"),
        (lambda: MADE.replace("ptc", "skills"), "the preset has 'skills' already; list it once"),
        (lambda: MADE.with_("x", before="x"), "no plugin 'x'"),
        (lambda: MADE.with_(5), "5 is not a plugin; pass the name of an installed plugin"),
        (lambda: Preset(["a", "b", "a"]), "a Preset has 'a' twice; list it once"),
        (lambda: Preset("ptc"), "a Preset takes a list of plugins; got 'ptc'"),
        (lambda: Preset([]).without("a"), "it has: no plugins"),
    ],
)
def test_a_slip_says_what_there_is(change: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        change()
    assert said in str(caught.value)


def test_a_preset_takes_its_plugins_by_name() -> None:
    assert Preset(plugins=["ptc", "console"]).names == ("ptc", "console")
