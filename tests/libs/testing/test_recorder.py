"""The recorder of the kit: one line a test, and lines that are there if the process dies."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest_plugins = "pytester"

TESTS = """
import pytest
from types import SimpleNamespace
from interpstack_testing import Area, FakeEngine

class TestKit:
    engine = FakeEngine()

    def test_passes(self, record_property):
        record_property("figure", "3 ms late")
        record_property("other", "left out")
    test_passes.area = Area("cells")

    def test_fails(self):
        assert 1 == 2, "x" * 600

    def test_skipped(self):
        pytest.skip("not declared")

    @pytest.mark.xfail(reason="its clock stands still", strict=True)
    def test_gap(self):
        assert False

    @pytest.mark.xfail(reason="it would hang", run=False)
    def test_not_run(self):
        assert False

@pytest.fixture
def broken():
    raise OSError("no library")

def test_without_set_up(broken):
    pass
"""


@pytest.fixture
def recorded(pytester: pytest.Pytester) -> list[dict[str, Any]]:
    path = pytester.path / "record.jsonl"
    path.write_text('{"before": true}\n')
    pytester.makepyfile(TESTS)
    options = ("-p", "interpstack_testing.recorder", "--conformance-record", str(path))
    pytester.runpytest_inprocess(*options, "-p", "no:cacheprovider", "-p", "no:asyncio")
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == '{"before": true}'  # lines are added
    return [json.loads(line) for line in lines[1:]]


def test_each_test_is_reported_when_it_begins_and_ends(recorded: list[dict[str, Any]]) -> None:
    begun = [line["begun"] for line in recorded if "begun" in line]
    ended = [line["test"] for line in recorded if "test" in line]
    names = ["test_passes", "test_fails", "test_skipped", "test_gap", "test_not_run"]
    assert begun == [*names, "test_without_set_up"]
    assert ended == begun
    assert recorded.index({"begun": "test_fails"}) == 2  # the first test has ended before


def test_what_is_reported_of_a_test(recorded: list[dict[str, Any]]) -> None:
    ended = {line["test"]: line for line in recorded if "test" in line}
    assert ended["test_passes"] == {
        "test": "test_passes",
        "area": "cells",
        "outcome": "passed",
        "text": "",
        "figures": ["3 ms late"],
        "engine": {"language": "python", "isolation": "none"},
    }
    outcomes = {name: (line["outcome"], line["text"]) for name, line in ended.items()}
    assert outcomes["test_skipped"] == ("skipped", "Skipped: not declared")
    assert outcomes["test_gap"] == ("gap", "its clock stands still")
    assert outcomes["test_not_run"] == ("gap", "it would hang")
    failed, found = outcomes["test_fails"]
    assert (failed, len(found)) == ("failed", 500)
    assert "xxx" in found
    assert outcomes["test_without_set_up"] == ("failed", "OSError: no library")
    assert ended["test_without_set_up"]["engine"] is None
