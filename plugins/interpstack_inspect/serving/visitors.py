"""Visitors: a link opens one browser, whose cookie then names it."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import attrs

__all__ = ["Visitor", "Visitors"]

#: Browsers that are known at once; the one that was opened first is forgotten.
_MOST: Final = 64
_TOKEN_BYTES: Final = 32


@attrs.frozen
class Visitor:
    """One browser.

    Attributes:
        cookie: The value of its cookie.
        form_token: The token that its forms carry, so that other pages cannot send them.
    """

    cookie: str = attrs.field(factory=lambda: secrets.token_urlsafe(_TOKEN_BYTES), repr=False)
    form_token: str = attrs.field(factory=lambda: secrets.token_urlsafe(_TOKEN_BYTES), repr=False)

    def sent(self, form_token: str) -> bool:
        """Whether a form of this browser carried the token."""
        return _same(self.form_token, form_token)


class Visitors:
    """The browsers that may look.

    Args:
        announce: Called with each new token: the first one, and the next one whenever a browser
            has used one.
    """

    def __init__(self, announce: Callable[[str], object]) -> None:
        self._announce = announce
        self._known: OrderedDict[str, Visitor] = OrderedDict()
        self._token = ""

    def open(self) -> None:
        """Announce a token; the one before it opens nothing any more."""
        self._token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._announce(self._token)

    def enter(self, token: str) -> Visitor | None:
        """The visitor of a browser that followed a link; `None` for a wrong or a used token."""
        if not self._token or not _same(self._token, token):
            return None
        visitor = Visitor()
        self._known[visitor.cookie] = visitor
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        self.open()
        return visitor

    def of(self, cookie: str) -> Visitor | None:
        """The visitor with a cookie."""
        return self._known.get(cookie)


def _same(secret: str, given: str) -> bool:
    """Whether a text is a secret; takes as long for every text of the same length."""
    return hmac.compare_digest(secret.encode(), given.encode("utf-8", "surrogatepass"))
