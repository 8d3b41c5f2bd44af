"""Forms of journals: the newest and the one before are read, all others refused."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack_durable.api import UnreadableJournal
from interpstack_durable.forms import VERSION, read_recorded, reporting_damage


def test_the_newest_form_is_read_as_it_is() -> None:
    entries = [{"version": VERSION, "began": 1.0}, {"asked": []}]
    recorded = read_recorded(entries)
    assert (recorded.entries, recorded.first_request) == (entries, 1)
    assert read_recorded([]).entries == ()


def test_the_form_before_numbers_requests_in_its_own_way() -> None:
    kept = {"kept": {"asked": [[7, "kit.f", "digest", "start"]], "settled": []}}
    recorded = read_recorded([{"version": 1}, kept])
    assert recorded.first_request == 7
    assert recorded.entries[1]["kept"]["pausing"] is True
    assert read_recorded([{"version": 1}]).first_request == 1


@pytest.mark.parametrize("version", [0, 3, "2", None, 2.0, True])
def test_other_forms_are_refused_and_named(version: Any) -> None:
    with pytest.raises(UnreadableJournal, match="reads the forms 1 and 2") as caught:
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
def test_damage_is_told_in_one_way(error: Exception) -> None:
    with pytest.raises(UnreadableJournal, match="is damaged") as caught, reporting_damage():
        raise error
    assert len(str(caught.value)) < 400
