"""The export of a guest's variables as portable values, and what is said of those without one.

The kernel bounds an export by size. Only code of the guest can take long in it: a getter of an item
in a list, a trap of a proxy. An engine stops that by time, and then exports each variable on its
own, so that one which cannot be read does not take the others along.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from interpstack.checks import listed
from interpstack.contracts.errors import EngineFailure
from interpstack_javascript.exchange import read_answer

__all__ = ["EXPORT_SECONDS", "UNDONE", "ExportStopped", "Losses", "exported", "exported_apart"]

#: Seconds that the export of all variables may compute.
EXPORT_SECONDS: Final = 5.0
#: Seconds that one variable may compute, and all of them, once they are exported on their own.
_ONE_SECONDS: Final = 0.5
_APART_SECONDS: Final = 3.0
#: Variables that may be stopped before the others count as lost, too.
_STOPS: Final = 3
#: As in the kernel: characters of a small variable, of all small ones, and of all larger ones.
_SMALL_CHARS: Final = 65_536
_SMALL_TOGETHER: Final = 8_388_608
_LARGE_TOGETHER: Final = 2_097_152
#: Names of lost variables that a notice lists.
_LISTED: Final = 50

#: The notice where variables are those from before the last cell, as no later ones were exported.
UNDONE: Final = (
    "The last cell's changes to variables were undone: their values could not be read in time, "
    "and the guest's memory was lost."
)


class ExportStopped(EngineFailure):
    """Raised when the guest was stopped while its variables were read; it is sound."""


def exported(ask: Callable[[str, float], str]) -> str:
    """The portable values of all variables, as the text of a JSON object.

    Args:
        ask: Sends the kernel a command, which may compute for so many seconds, and returns its
            answer. Raises `ExportStopped` if the guest was stopped.

    Raises:
        EngineFailure: They cannot be had.
    """
    try:
        return ask('["values"]', EXPORT_SECONDS)
    except ExportStopped:
        return exported_apart(ask)


def exported_apart(ask: Callable[[str, float], str]) -> str:
    """`exported`, one variable after another; those that cannot be read in time are lost."""
    names = read_answer(ask('["names"]', _ONE_SECONDS))
    if not isinstance(names, list):
        raise EngineFailure("the guest's kernel gives no names")
    values: dict[str, Any] = {}
    small, large, stops = _SMALL_TOGETHER, _LARGE_TOGETHER, 0
    end = time.monotonic() + _APART_SECONDS
    for name in names:
        if stops == _STOPS or time.monotonic() > end:
            values[name] = _lost("reading other variables took too much time or memory")
            continue
        only = {"name": name, "small": small, "large": large}
        try:
            text = ask(json.dumps(["values", only]), _ONE_SECONDS)
        except ExportStopped:
            stops += 1
            values[name] = _lost("reading it took too much time or memory")
            continue
        if len(text) <= _SMALL_CHARS:
            small = max(0, small - len(text))
        else:
            large = max(0, large - len(text))
        found = read_answer(text)
        if isinstance(found, dict) and name in found:
            values[name] = found[name]
    return json.dumps(values)


def _lost(reason: str) -> Mapping[str, str]:
    return {"$": "lost", "v": f"its value was not exported: {reason}"}


class Losses:
    """The variables without a portable value, each of which a reader is told of once."""

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
