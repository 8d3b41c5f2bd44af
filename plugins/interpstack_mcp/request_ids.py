"""Ids of requests, of which the SDK takes a number and its text for the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final

import attrs
from mcp import types

__all__ = ["NumericTexts"]

#: Ids that are remembered.
_MOST: Final = 4096


@attrs.define(eq=False)
class NumericTexts:
    """Texts that read as numbers, such as `"1"`, where they are ids of requests.

    The SDK would cancel the request `1` where its client cancels the request `"1"`.
    """

    _texts: OrderedDict[tuple[Hashable, int], str] = attrs.field(factory=OrderedDict, init=False)

    def allows(self, message: types.JSONRPCMessage, session: Hashable = None) -> bool:
        """Note the id of a request; whether a message is one that the SDK understands.

        Args:
            message: The message.
            session: The sender.

        Returns:
            `False` for the cancellation of another request than the one that the SDK would cancel.
        """
        if isinstance(message, types.JSONRPCRequest):
            self._note(session, message.id)
            return True
        if (
            not isinstance(message, types.JSONRPCNotification)
            or message.method != "notifications/cancelled"
        ):
            return True
        return self._names(session, (message.params or {}).get("requestId"))

    def _note(self, session: Hashable, given: str | int) -> None:
        number = _number(given)
        if number is None:
            return
        self._texts.pop((session, number), None)
        if isinstance(given, str):
            self._texts[session, number] = given
            if len(self._texts) > _MOST:
                self._texts.popitem(last=False)

    def _names(self, session: Hashable, given: Any) -> bool:
        number = _number(given)
        if number is None:
            return True
        last = self._texts.get((session, number), number)
        return type(last) is type(given) and last == given


def _number(given: Any) -> int | None:
    """The number for which the SDK takes an id; `None` if it takes it as it is."""
    if isinstance(given, str):
        try:
            return int(given)
        except ValueError:
            return None
    return given if type(given) is int else None
