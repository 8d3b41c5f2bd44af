"""Forms of journals: the newest is read, all others are refused."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_durable.api import UnreadableJournal
from interpstack_durable.forms import VERSION, read_recorded, reporting_damage


def test_the_newest_form_is_read_as_it_is() -> None:
    entries = [{"version": VERSION, "began": 1.0}, {"asked": []}]
    assert read_recorded(entries) == entries
    assert read_recorded([]) == ()


@pytest.mark.parametrize("version", [0, 1, 3, "2", None, 2.0, True])
def test_other_forms_are_refused_and_named(version: Any) -> None:
    with pytest.raises(UnreadableJournal, match="reads the form 2") as caught:
        read_recorded([{"version": version, "release": "9.9"}])
    assert f"the form {version!r}, written by interpstack 9.9;" in str(caught.value)


@pytest.mark.parametrize("release", ["9" * 10**6, "\x1b[2J", ["9"], {"a": 1}, 9, ""])
def test_the_name_of_a_release_is_checked(release: Any) -> None:
    with pytest.raises(UnreadableJournal) as caught:
        read_recorded([{"version": "x" * 10**6, "release": release}])
    message = str(caught.value)
    assert len(message) < 400
    assert message.isprintable()


@pytest.mark.parametrize("error", [KeyError("a"), RecursionError(), OverflowError("x" * 10**6)])
def test_damage_is_reported_in_one_way(error: Exception) -> None:
    with pytest.raises(UnreadableJournal, match="is damaged") as caught, reporting_damage():
        raise error
    assert len(str(caught.value)) < 400
