"""Tests of interpstack_cli.installed.extras."""

from __future__ import annotations

from importlib.metadata import Distribution, EntryPoint
from pathlib import Path

import pytest

from interpstack_cli.installed.extras import Extra, extra_for, extras_of

METADATA = """
Metadata-Version: 2.1
Name: Some-Thing
Version: 1.0
Provides-Extra: all
Provides-Extra: both
Provides-Extra: engine
Provides-Extra: replay
Provides-Extra: two-words
Provides-Extra: v8-engine
Requires-Dist: attrs
Requires-Dist: pluggy; python_version > "3.0"
Requires-Dist: some_thing[engine]; extra == "all"
Requires-Dist: pytest; extra == "both"
Requires-Dist: no.such-package>=1,<2; extra == "both"
Requires-Dist: no-such-package; extra == 'engine'
Requires-Dist: jsrun<0.4,>=0.3; extra == "v8-engine"
"""


@pytest.fixture
def distribution(tmp_path: Path) -> Distribution:
    folder = tmp_path / "some_thing-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(METADATA.lstrip())
    return Distribution.at(folder)


def entry(
    distribution: Distribution | None, name: str = "one", group: str = "interpstack"
) -> EntryPoint:
    made = EntryPoint(name, "some_thing.plugin", group)
    if distribution is not None:
        vars(made).update(dist=distribution)
    return made


def missing(module: str) -> ModuleNotFoundError:
    return ModuleNotFoundError(f"No module named {module!r}", name=module)


def test_extras_with_what_is_there_and_what_is_not(distribution: Distribution) -> None:
    both, engine, v8 = extras_of(distribution)
    assert (both.name, both.missing) == ("both", ("no.such-package",))
    assert both.installed == {"pytest": pytest.__version__}
    assert engine == Extra("engine", {}, ("no-such-package",))
    assert v8.name == "v8-engine"


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("no_such_package.inner", "engine"),  # the one that brings the least
        ("pytest", "both"),
        ("jsrun", "v8-engine"),
        ("some_thing.plugin", ""),
        ("interpstack.gone", ""),
        ("unheard_of", ""),
        ("", ""),
    ],
)
def test_the_extra_that_brings_a_missing_package(
    distribution: Distribution, module: str, extra: str
) -> None:
    assert extra_for(entry(distribution), missing(module)) == extra


@pytest.mark.parametrize(
    ("name", "extra"), [("engine", "engine"), ("v8", "v8-engine"), ("two_words", "two-words")]
)
def test_a_package_of_another_name_may_be_what_the_plugin_needs(
    distribution: Distribution, name: str, extra: str
) -> None:
    assert extra_for(entry(distribution, name), missing("unheard_of")) == extra


def test_a_command_has_the_extra_of_its_name(distribution: Distribution) -> None:
    command = entry(distribution, "replay", "interpstack.commands")
    assert extra_for(command, missing("pytest")) == "replay"


def test_other_errors_and_other_origins_have_no_extra(distribution: Distribution) -> None:
    assert extra_for(entry(distribution), ImportError("broken")) == ""
    assert extra_for(entry(distribution), None) == ""
    assert extra_for(entry(None), missing("pytest")) == ""
