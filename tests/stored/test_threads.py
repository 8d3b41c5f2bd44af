"""Conversations that earlier code stored, in every form: today's code goes on with each.

Each directory below `threads` was written by `tests/support/stored_threads.py`, and stays as it is.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command
from scripted import answers
from stored_threads import THREADS, Effects, agent, config, opened, write

STORED = Path(__file__).parent / "threads"
VERSIONS = sorted(path.name for path in STORED.iterdir())


def unpacked(version: str, target: Path) -> Path:
    """The databases of one version, which a test may change."""
    for packed in (STORED / version).glob("*.xz"):
        (target / packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
    return target


@pytest.mark.parametrize("name", THREADS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_stored_conversation_goes_on(tmp_path: Path, version: str, name: str) -> None:
    """Calls that were recorded are not made again, those that waited are made once."""
    thread, effects = THREADS[name], Effects()
    if "v8" in name:
        pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")
    with opened(unpacked(version, tmp_path)) as places:
        made = agent(thread, *places, effects)
        if thread.reads:
            given: Any = {"messages": [("user", json.dumps([thread.reads]))]}
        else:
            given = Command(resume=thread.answer)
        said = answers(made.invoke(given, config(name)))
    assert thread.shown in said[-1]
    assert effects.looks == []
    assert effects.paid == ([] if thread.reads else thread.paid)


# -- no form without a file ------------------------------------------------------------------


def paths(value: Any, at: str) -> Iterator[str]:
    """Where the parts of a stored value are, and of which type they are."""
    if isinstance(value, dict):
        for key, one in value.items():
            # ids, numbers and names of tools say nothing of the form
            name = "*" if re.search(r"[.:\d]", str(key)) else key
            yield from paths(one, f"{at}.{name}")
    elif isinstance(value, list | tuple):
        for one in value:
            yield from paths(one, f"{at}[]")
    else:
        yield f"{at}: {type(value).__name__}"


def forms(directory: Path) -> set[str]:
    """The form of all that the interpreter stored in a checkpointer and a store."""
    found = set[str]()
    with opened(directory) as (saver, store):
        for one in saver.list(None):
            values = one.checkpoint["channel_values"].items()
            writes = [(channel, value) for _, channel, value in one.pending_writes or ()]
            for channel, value in [*values, *writes]:
                if channel.startswith("interpreter"):
                    found.update(paths(value, channel))
        for namespace in store.list_namespaces():
            for item in store.search(namespace, limit=100):
                found.update(paths(item.value, "/".join(namespace)))
    return found


def test_every_form_that_is_written_today_is_in_a_file(tmp_path: Path) -> None:
    """Who changes what is stored adds the files of the new form, and keeps those of the old."""
    pytest.importorskip("jsrun", reason="jsrun has no wheel for this platform")
    known = set[str]()
    for version in VERSIONS:
        directory = tmp_path / version
        directory.mkdir()
        known |= forms(unpacked(version, directory))
    write(tmp_path / "today")
    new = forms(tmp_path / "today") - known
    assert not new, (
        "run tests/support/stored_threads.py, pack what it writes with xz, and check that in below "
        "tests/stored/threads as the next version"
    )


def test_forms_are_distinguished() -> None:
    entry = {"settled": [{"id": 1}, {"text": "x"}], "drawn": {"tool_requests:f": 2}}
    found = set(paths(entry, "a"))
    assert found == {"a.settled[].id: int", "a.settled[].text: str", "a.drawn.*: int"}
