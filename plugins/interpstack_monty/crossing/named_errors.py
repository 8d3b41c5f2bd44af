"""Errors of the host that a cell received under a name of their own."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import attrs

__all__ = ["NamedErrors"]

#: Bytes of a digest: a guest that could make another message with the same digest would only give
#: an error of its own the name of an error that it received.
_DIGEST = 16


@attrs.define(eq=False)
class NamedErrors:
    """Recognises errors of the host when a cell raises them again.

    Monty raises such an error as `RuntimeError: NAME: MESSAGE`, and so may the guest. Only the
    messages that the host sent are taken apart. An image of a suspended cell has digests of these
    messages, because the messages themselves may be large.
    """

    _names: dict[str, int] = attrs.field(factory=dict)  # lengths of names, by digests of messages

    def add(self, name: str, message: str) -> None:
        """Note an error, whose texts are as the guest receives them."""
        self._names[_digest(f"{name}: {message}")] = len(name)

    def parts(self, text: str) -> tuple[str, str] | None:
        """The name and the message of an error that the guest received; `None` for another text."""
        length = self._names.get(_digest(text))
        return None if length is None else (text[:length], text[length + 2 :])

    def to_data(self) -> Sequence[Sequence[str | int]]:
        """The noted errors as JSON, for an image."""
        return [[digest, length] for digest, length in self._names.items()]

    def restore(self, data: Sequence[Sequence[str | int]]) -> None:
        """Restore errors that `to_data` returned.

        Raises:
            TypeError, ValueError: They have another form.
        """
        self._names = {str(digest): int(length) for digest, length in data}


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()
