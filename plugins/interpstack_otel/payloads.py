"""Texts of code and calls as attributes of spans: off by default, redacted and bounded."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import attrs

from interpstack import ConfigurationError
from interpstack.checks import shown

__all__ = ["PayloadKind", "Payloads"]

PayloadKind: TypeAlias = Literal["source", "arguments", "answer", "result", "console", "error"]

_log = logging.getLogger("interpstack.otel")
_MOST: Final = 2**20


def _kept(kind: PayloadKind, name: str, text: str) -> str | None:
    return text


def _check_chars(payloads: Payloads, attribute: Any, value: int) -> None:
    if type(value) is not int or not 0 < value <= _MOST:
        raise ConfigurationError(
            f"chars takes a whole number from 1 to {_MOST}; got {shown(value)}"
        )


def _check_redact(payloads: Payloads, attribute: Any, value: Any) -> None:
    if not callable(value):
        raise ConfigurationError(
            f"redact takes a function of a kind, a name and a text; got {shown(value)}"
        )


@attrs.frozen
class Payloads:
    """Settings for texts of code and calls on spans.

    Attributes:
        redact: Takes the kind of a text, the name of the tool (empty for texts of the cell itself),
            and the whole text. Returns the text to show; `None` shows nothing. If the function
            raises, the text is left out. It is called on the event loop.
        chars: Largest number of characters shown of each text.

    Raises:
        ConfigurationError: An argument is wrong.
    """

    redact: Callable[[PayloadKind, str, str], str | None] = attrs.field(
        default=_kept, validator=_check_redact
    )
    chars: int = attrs.field(default=4096, kw_only=True, validator=_check_chars)

    def shown(self, kind: PayloadKind, name: str, text: str) -> str | None:
        """A text as it is shown; `None` for one that is not."""
        try:
            shown = self.redact(kind, name, text)
            if shown is not None and not isinstance(shown, str):
                raise TypeError(f"redact returns text or None; got {type(shown).__name__}")  # noqa: TRY301 - as the function's own
        except Exception:  # noqa: BLE001 - of the host; a payload must not leak because of it
            _log.exception("the redaction of %s failed; the text is left out", kind)
            return None
        # Lone surrogates of a guest cannot be exported.
        return None if shown is None else shown[: self.chars].encode("utf-8", "replace").decode()

    def tree(self, name: str, wire: Any) -> str | None:
        """The arguments of a call as they are shown, from its wire tree."""
        return self.shown("arguments", name, json.dumps(wire, ensure_ascii=False))
