"""Variables are exported one after another where the export of all of them was stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_javascript.exported import ExportStopped, Losses, exported

_SLOW = {"$": "lost", "v": "its value was not exported: reading it took too much time or memory"}
_REST = {
    "$": "lost",
    "v": "its value was not exported: reading other variables took too much time or memory",
}


class Kernel:
    """Answers for these variables; an export with a value of `None` among them is stopped."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.variables = variables
        self.asked: list[Any] = []

    def ask(self, command: str, seconds: float) -> str:
        kind, *given = json.loads(command)
        self.asked.append(given[0] if given else kind)
        if kind == "names":
            return json.dumps(list(self.variables))
        asked = given[0] if given else {}
        names = {asked["only"]} if "only" in asked else set(self.variables)
        read = {name: self.variables[name] for name in names - set(asked.get("without", ()))}
        if None in read.values():
            raise ExportStopped("stopped")
        return json.dumps(read)


def test_all_variables_are_exported_at_once() -> None:
    assert exported(lambda command, seconds: f'{{"asked": {command}}}') == '{"asked": ["values"]}'


def test_one_that_cannot_be_read_is_lost_alone() -> None:
    kernel = Kernel({"a": 1, "slow": None, "z": [2]})
    assert json.loads(exported(kernel.ask)) == {"a": 1, "slow": _SLOW, "z": [2]}


def test_after_three_the_rest_is_lost_by_name() -> None:
    kernel = Kernel({"s1": None, "s2": None, "a": 1, "s3": None, "b": 2})
    found = json.loads(exported(kernel.ask))
    assert found == {"s1": _SLOW, "s2": _SLOW, "a": 1, "s3": _SLOW, "b": _REST}


def test_the_others_are_exported_together() -> None:
    kernel = Kernel({"slow": None, "a": 1, "b": 2})
    exported(kernel.ask)
    assert kernel.asked[-1] == {"without": ["slow"]}


def test_others_that_cannot_be_read_together_are_lost_by_name() -> None:
    kernel = Kernel({"slow": None, "a": 1})

    def ask(command: str, seconds: float) -> str:
        if "without" in command:
            raise ExportStopped("stopped")
        return kernel.ask(command, seconds)

    assert json.loads(exported(ask)) == {"slow": _SLOW, "a": _REST}


@pytest.mark.parametrize("names", ["5", "nothing"])
def test_names_in_another_form_are_refused(names: str) -> None:
    def ask(command: str, seconds: float) -> str:
        if command == '["values"]':
            raise ExportStopped("stopped")
        return names

    with pytest.raises(EngineFailure):
        exported(ask)


def test_a_loss_is_reported_once() -> None:
    losses, lost = Losses(), {"$": "lost", "v": "a function"}
    losses.known({"f": lost})
    assert losses.notice({"f": lost, "n": 1}) == ""
    assert losses.notice({"f": lost, "g": lost}).endswith("without a value, and so lost: g.")
    assert losses.notice({"f": 1, "g": lost}) == ""
    assert losses.notice({"f": lost, "g": lost}).endswith("so lost: f.")
