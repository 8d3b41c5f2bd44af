"""The export of a guest's variables as portable values, and what is said of those without one.

The kernel bounds an export by size. Only code of the guest can take long in it: a getter of an item
in a list, a trap of a proxy. An engine stops that by time, and then exports each variable on its
own, so that one which cannot be read does not take the others along. The others are exported
together: only then does the kernel find the objects that variables share.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from interpstack.checks import listed
from interpstack.contracts.errors import EngineFailure
from interpstack_javascript.exchange import read_answer

__all__ = [
    "EXPORT_SECONDS",
    "UNDONE",
    "ExportStopped",
    "LargeVariables",
    "Losses",
    "exported",
    "exported_apart",
]

#: Seconds that the export of all variables may compute.
EXPORT_SECONDS: Final = 5.0
#: Seconds that one variable may compute, and all of them, once they are read on their own.
_ONE_SECONDS: Final = 0.5
_APART_SECONDS: Final = 3.0
#: Variables that may be stopped before the others count as lost, too.
_STOPS: Final = 3
#: Exports after which a variable that was too large is read again: its items may be smaller then.
_READ_AGAIN: Final = 16
#: Names of lost variables that a notice lists.
_LISTED: Final = 50

#: The notice where variables are those from before the last cell, as no later ones were exported.
UNDONE: Final = (
    "The last cell's changes to variables were undone: their values could not be read in time, "
    "and the guest's memory was lost."
)


class ExportStopped(EngineFailure):
    """Raised when the guest was stopped while its variables were read; it is sound."""


class LargeVariables:
    """Variables of a realm that were too large to be stored, so that not each export reads them."""

    def __init__(self) -> None:
        self._items: dict[str, int] = {}
        self._exports = 0

    def known(self) -> Mapping[str, int]:
        """Their items by name, for the next export."""
        self._exports += 1
        return {} if self._exports % _READ_AGAIN == 0 else self._items

    def read(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """The values of an export, without the numbers of items, which are noted."""
        self._items = {
            name: wire["items"]
            for name, wire in values.items()
            if isinstance(wire, dict) and type(wire.get("items")) is int and wire.get("$") == "lost"
        }
        lost = {name: {"$": "lost", "v": values[name].get("v")} for name in self._items}
        return {**values, **lost}


def exported(ask: Callable[[str, float], str], large: Mapping[str, int] | None = None) -> str:
    """The portable values of all variables, as the text of a JSON object.

    Args:
        ask: Sends the kernel a command, which may compute for so many seconds, and returns its
            answer. Raises `ExportStopped` if the guest was stopped.
        large: As `LargeVariables.known` gives them; `LargeVariables.read` reads the object then.

    Raises:
        EngineFailure: They cannot be had.
    """
    try:
        command = ["values"] if large is None else ["values", {"large": large}]
        return ask(json.dumps(command), EXPORT_SECONDS)
    except ExportStopped:
        return exported_apart(ask)


def exported_apart(ask: Callable[[str, float], str]) -> str:
    """`exported`, without the variables that cannot be read in time: these are lost."""
    names = read_answer(ask('["names"]', _ONE_SECONDS))
    if not isinstance(names, list):
        raise EngineFailure("the guest's kernel gives no names")
    lost = _unreadable(ask, names)
    try:
        found = read_answer(ask(json.dumps(["values", {"without": list(lost)}]), EXPORT_SECONDS))
    except ExportStopped:
        found = dict.fromkeys(names, _OTHERS)
    if not isinstance(found, dict):
        raise EngineFailure("the guest's kernel gives no values")
    found |= lost
    return json.dumps(
        {name: found[name] for name in dict.fromkeys([*names, *found]) if name in found}
    )


def _unreadable(ask: Callable[[str, float], str], names: Sequence[str]) -> dict[str, Any]:
    """The variables that cannot be read in time, each with its loss."""
    lost: dict[str, Any] = {}
    stops, end = 0, time.monotonic() + _APART_SECONDS
    for name in names:
        if stops == _STOPS or time.monotonic() > end:
            lost[name] = _OTHERS
            continue
        try:
            ask(json.dumps(["values", {"only": name}]), _ONE_SECONDS)
        except ExportStopped:
            stops += 1
            lost[name] = _lost("reading it took too much time or memory")
    return lost


def _lost(reason: str) -> Mapping[str, str]:
    return {"$": "lost", "v": f"its value was not exported: {reason}"}


#: The loss of a variable that was not reached.
_OTHERS: Final = _lost("reading other variables took too much time or memory")


class Losses:
    """The variables without a portable value, each of which is reported to a reader once."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def known(self, values: Mapping[str, Any]) -> None:
        """Note that the reader knows of the losses among these values."""
        self._known = set(_lost_names(values))

    def notice(self, values: Mapping[str, Any]) -> str:
        """The notice about variables that a guest has by their values; empty without new losses."""
        lost = _lost_names(values)
        new = [name for name in lost if name not in self._known]
        self._known = set(lost)
        if not new:
            return ""
        return (
            "Variables were restored from their values; without a value, and so lost: "
            f"{listed(new, _LISTED)}."
        )


def _lost_names(values: Mapping[str, Any]) -> Collection[str]:
    return [
        name for name, wire in values.items() if isinstance(wire, dict) and wire.get("$") == "lost"
    ]
