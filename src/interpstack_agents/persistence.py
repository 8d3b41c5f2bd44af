"""Persistence modes: how long a session's state lives, and its stored form.

A mode turns a `SessionState` into a *record*, a mapping of plain values that any store can hold,
and back. A record may hold only the changes since earlier ones. The adapter decides where records
are stored.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from interpstack import ConfigurationError, Image, InterpreterStack, PluginManager, SessionState
from interpstack.checks import shown

__all__ = ["Persistence", "RecordRejected", "persistence_mode", "persistence_modes"]

#: Bytes of the shortest signing key.
_KEY_BYTES: Final = 16


class RecordRejected(ConfigurationError):
    """A record is damaged, forged, or belongs to another conversation; nothing was loaded."""


class Persistence(abc.ABC):
    """Base class for persistence modes, which turn states into records and back.

    Args:
        max_bytes: Largest state to store; `None` for no limit.
        signing_key: Signs records, and refuses unsigned ones; `None` for no signatures.

    Raises:
        ConfigurationError: `max_bytes` is not a whole number above 0, or the key is under 16 bytes.
    """

    #: Registered name.
    name: ClassVar[str]
    #: How long variables live: `thread`, `turn` or `call`.
    scope: ClassVar[str]

    def __init__(self, *, max_bytes: int | None = None, signing_key: bytes | None = None) -> None:
        whole = isinstance(max_bytes, int) and not isinstance(max_bytes, bool)
        if max_bytes is not None and not (whole and max_bytes > 0):
            raise ConfigurationError(
                "max_bytes takes a whole number above 0, or None for no limit; "
                f"got {max_bytes!r:.60}"
            )
        if signing_key is not None and not isinstance(signing_key, bytes):
            kind = type(signing_key).__name__  # the value itself is a secret
            raise ConfigurationError(f"signing_key takes bytes or None; got a value of type {kind}")
        if signing_key is not None and len(signing_key) < _KEY_BYTES:
            raise ConfigurationError(
                f"signing_key takes at least {_KEY_BYTES} bytes; make one with "
                f"secrets.token_bytes(32)"
            )
        self.max_bytes = max_bytes
        self.signing_key = signing_key

    @property
    def stores(self) -> bool:
        """Whether the mode makes records."""
        return self.scope == "thread"

    def wants_values(self, image: Image) -> bool:
        """Whether `dump` needs the values of a state with an image of this size."""
        return True

    @abc.abstractmethod
    def dump(
        self,
        state: SessionState,
        owner: str,
        sequence: int,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[Mapping[str, Any], str]:
        """Turn a state into a record.

        Called in a guest thread, of which there is one per core; so `dump` must only compute, and
        never wait.

        Args:
            state: The state of a session.
            owner: Identifies the conversation; a record of one is refused by every other.
            sequence: Rises with every record of a conversation.
            earlier: Records of the conversation that will be at hand when this one is loaded,
                oldest first. The record may build on them, and its item `previous` says whether
                it does: it is false in a record that needs none of them.

        Returns:
            The record, which holds `sequence`, and a notice for the reader if a part of the state
            was omitted, else `""`.
        """

    @abc.abstractmethod
    def load(
        self, record: Mapping[str, Any], owner: str, earlier: Sequence[Mapping[str, Any]] = ()
    ) -> SessionState:
        """Turn a record back into a state; nothing in the record is used before it is verified.

        Args:
            record: A return value of `dump`, from an untrusted place.
            owner: The same value as for `dump`.
            earlier: Records that `dump` may have built on; additional records do no harm.

        Raises:
            RecordRejected: It cannot be trusted or read, or one that it builds on is missing.
        """


def persistence_mode(stack: InterpreterStack | PluginManager, name: str) -> type[Persistence]:
    """The persistence mode with this name, from the plugins of a stack; the first if there are two.

    Raises:
        ConfigurationError: None of them registers it.
    """
    if not isinstance(stack, (InterpreterStack, PluginManager)):
        raise ConfigurationError(f"persistence_mode takes an InterpreterStack; got {shown(stack)}")
    modes = persistence_modes(stack)
    if name not in modes:
        known = ", ".join(sorted(modes)) or "none; add the plugin 'persistence'"
        raise ConfigurationError(f"unknown persistence mode {name!r}; known: {known}")
    return modes[name]


def persistence_modes(
    stack: InterpreterStack | PluginManager,
) -> Mapping[str, type[Persistence]]:
    """All persistence modes that the plugins of a stack register, by name."""
    register = getattr(stack.hook, "interpstack_register_persistence", None)
    modes: dict[str, type[Persistence]] = {}
    for classes in () if register is None else register():
        for cls in classes:
            modes.setdefault(cls.name, cls)
    return modes
