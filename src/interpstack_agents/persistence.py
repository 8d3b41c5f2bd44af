"""Persistence modes: whose variables an eval sees, how long they live, and their stored form.

A mode turns a `SessionState` into a *record*, a mapping of plain values that any store can hold,
and back. A record may hold only the changes since earlier ones. The adapter decides where records
are stored.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import attrs

from interpstack import ConfigurationError, Image, InterpreterStack, PluginManager, SessionState
from interpstack.checks import shown

__all__ = [
    "ConversationContext",
    "Persistence",
    "PersistenceScope",
    "RecordRejected",
    "check_signing_key",
    "persistence_mode",
    "persistence_modes",
    "shared_key",
]

#: Bytes of the shortest signing key.
_KEY_BYTES: Final = 16
#: Characters of the longest key of shared variables.
_SHARED_CHARS: Final = 512


class RecordRejected(ConfigurationError):
    """A record is damaged, forged, or belongs to another conversation; nothing was loaded."""


class PersistenceScope(enum.StrEnum):
    """How long variables live."""

    #: For one eval; nothing is stored.
    CALL = "call"
    #: Until the agent has answered; a record of a turn is not used by the next one.
    TURN = "turn"
    #: As long as the conversation.
    THREAD = "thread"
    #: Beyond the conversation, for all conversations with the same `Persistence.shared_key`.
    SHARED = "shared"


@attrs.frozen(kw_only=True)
class ConversationContext:
    """What a mode may know of a conversation, to say whose variables it uses.

    Attributes:
        thread: The id of the conversation; `None` where it has none.
        config: Values with which the host runs the agent, such as LangGraph's `configurable`.
        context: The context object of the run, such as LangGraph's `context`; `None` without one.
    """

    thread: str | None = None
    config: Mapping[str, Any] = attrs.field(factory=dict)
    context: Any = None


def check_signing_key(name: str, key: Any) -> None:
    """Refuse a key that cannot sign stored states.

    Args:
        name: The argument that the key was given as.
        key: The key; `None` for none.

    Raises:
        ConfigurationError: It is not bytes, or too short to be a secret.
    """
    if key is not None and not isinstance(key, bytes):
        kind = type(key).__name__  # the value itself is a secret
        raise ConfigurationError(f"{name} takes bytes or None; got a value of type {kind}")
    if key is not None and len(key) < _KEY_BYTES:
        raise ConfigurationError(
            f"{name} takes at least {_KEY_BYTES} bytes; make one with secrets.token_bytes(32)"
        )


class Persistence(abc.ABC):
    """Base class for persistence modes, which turn states into records and back.

    A plugin registers its modes with the hook `interpstack_register_persistence`, marked
    `optionalhook=True`; the argument `mode` of an adapter takes their names.

    Args:
        max_bytes: Largest state to store; `None` for no limit.
        signing_key: Signs records, and refuses unsigned ones; `None` for no signatures.

    Raises:
        ConfigurationError: `max_bytes` is not a whole number above 0, or the key is under 16 bytes.
    """

    #: Registered name.
    name: ClassVar[str]
    #: How long variables live: a `PersistenceScope`, or its value, such as `"thread"`.
    scope: ClassVar[str]
    #: A sentence for the model that says how long variables live; empty for that of the scope.
    lifetime: ClassVar[str] = ""

    def __init__(self, *, max_bytes: int | None = None, signing_key: bytes | None = None) -> None:
        whole = isinstance(max_bytes, int) and not isinstance(max_bytes, bool)
        if max_bytes is not None and not (whole and max_bytes > 0):
            raise ConfigurationError(
                "max_bytes takes a whole number above 0, or None for no limit; "
                f"got {max_bytes!r:.60}"
            )
        check_signing_key("signing_key", signing_key)
        self.max_bytes = max_bytes
        self.signing_key = signing_key

    @property
    def outlives_turn(self) -> bool:
        """Whether records outlive the turn that makes them."""
        return self.scope in (PersistenceScope.THREAD, PersistenceScope.SHARED)

    def shared_key(self, conversation: ConversationContext) -> str:
        """Return whose variables a conversation uses; override it for the scope `shared`.

        Called at the start and at the end of each turn, and for each eval.

        Args:
            conversation: The conversation that is about to use them.

        Returns:
            The same text for all conversations that share their variables, such as the id of a
            user: not empty, and at most 512 characters.

        Raises:
            NotImplementedError: By default.
        """
        raise NotImplementedError(
            f"the persistence mode {self.name!r} has the scope 'shared', so {type(self).__name__} "
            "has to override shared_key"
        )

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
            _check(cls)
            modes.setdefault(cls.name, cls)
    return modes


def shared_key(mode: Persistence, conversation: ConversationContext) -> str | None:
    """Return the key of the variables that a conversation shares; `None` if it shares none.

    Raises:
        ConfigurationError: The mode returned no usable key.
    """
    if mode.scope != PersistenceScope.SHARED:
        return None
    key = mode.shared_key(conversation)
    if isinstance(key, str) and 0 < len(key) <= _SHARED_CHARS:
        return key
    raise ConfigurationError(
        f"shared_key of the persistence mode {mode.name!r} has to return a text of 1 to "
        f"{_SHARED_CHARS} characters, such as the id of a user; got {shown(key)}"
    )


def _check(cls: Any) -> None:
    """Refuse an incomplete mode: adapters could not tell how long its variables live.

    Raises:
        ConfigurationError: Names the class, and what is wrong.
    """
    if not (isinstance(cls, type) and issubclass(cls, Persistence)):
        raise ConfigurationError(
            "interpstack_register_persistence returns a list of subclasses of Persistence; got "
            f"{shown(cls)}"
        )
    name, scope = getattr(cls, "name", None), getattr(cls, "scope", None)
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"{cls.__name__}.name must be a text, the mode's name")
    if scope not in tuple(PersistenceScope):
        known = ", ".join(repr(one.value) for one in PersistenceScope)
        raise ConfigurationError(
            f"{cls.__name__}.scope must be one of {known}, by which adapters know how long its "
            f"variables live; got {shown(scope)}"
        )
