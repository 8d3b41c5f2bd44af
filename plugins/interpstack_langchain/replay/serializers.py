"""Readers of stored values: the checkpointer's serializer, with messages about damaged values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from interpstack import ConfigurationError, InterpstackError
from interpstack.values import ProtocolError
from interpstack_cli.api import attribute_named

__all__ = ["Checked", "environment_key", "reading", "serializer", "signing_key"]

#: Lengths of a key of AES.
_AES_BYTES: Final = (16, 24, 32)
_SHOWN_CHARS: Final = 300


def serializer(named: str | None, aes_variable: str | None) -> SerializerProtocol | None:
    """The serializer of the agent's checkpointer; `None` for LangGraph's default.

    Args:
        named: `MODULE:ATTR`, a serializer or a function without arguments that makes one.
        aes_variable: Environment variable with the key of an `EncryptedSerializer`.

    Raises:
        ConfigurationError: An argument is wrong, or both arguments are set.
    """
    if named is not None and aes_variable is not None:
        raise ConfigurationError("--serializer and --aes-key-env exclude each other; give one")
    if named is not None:
        return _named(named)
    return None if aes_variable is None else _encrypted(aes_variable)


def environment_key(option: str, variable: str, content: str) -> bytes:
    """Return the key in an environment variable.

    Raises:
        ConfigurationError: There is none.
    """
    key = os.environ.get(variable)
    if not key:
        raise ConfigurationError(
            f"{option} {variable}: this environment variable is not set, or is empty; set it to "
            f"{content}"
        )
    return key.encode()


def signing_key(variable: str | None) -> bytes | None:
    """Return the key in an environment variable for an agent's state; `None` without a variable.

    Raises:
        ConfigurationError: The variable contains no such key.
    """
    if variable is None:
        return None
    key = environment_key("--signing-key-env", variable, "the agent's snapshot_signing_key")
    if len(key) < 16:
        raise ConfigurationError(
            f"--signing-key-env {variable}: a snapshot_signing_key has at least 16 bytes; this one "
            f"has {len(key)}"
        )
    return key


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Report a malformed record in one line.

    Raises:
        ConfigurationError: The block met such a record.
    """
    try:
        yield
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        # Messages of interpstack's errors are complete, except those about a single damaged field.
        if isinstance(error, InterpstackError) and not isinstance(error, ProtocolError):
            raise
        raise ConfigurationError(
            f"{what}: its record cannot be read, so it is damaged ({type(error).__name__}: {error})"
        ) from error


@attrs.define(eq=False, repr=False)
class Checked(SerializerProtocol):
    """A serializer whose errors describe an unreadable value in one line.

    Attributes:
        inner: The serializer itself.
        option: The option that selected the serializer, for messages; empty for the default.
    """

    inner: SerializerProtocol
    option: str = ""

    @classmethod
    def install(cls, saver: BaseCheckpointSaver[Any], option: str) -> None:
        """Have a checkpointer read through this."""
        saver.serde = cls(saver.serde, option)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return self.inner.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Read a stored value.

        Raises:
            ConfigurationError: It is damaged, or of another serializer.
        """
        try:
            return self.inner.loads_typed(data)
        except Exception as error:
            raise ConfigurationError(self._unreadable(str(data[0]), error)) from error

    def _unreadable(self, kind: str, error: Exception) -> str:
        cause = f"{type(error).__name__}: {error}".rstrip(": ")[:_SHOWN_CHARS]
        _, encrypted, cipher = kind.partition("+")
        if encrypted and not self.option:
            return (
                f"the database's values are encrypted ({cipher!r}): name the variable that holds "
                "the key with --aes-key-env, or the agent's serializer with --serializer"
            )
        doubt = f", or {self.option} is not what wrote it" if self.option else ""
        return (
            f"a stored value of the kind {kind!r} cannot be read, so it is damaged{doubt}: {cause}"
        )


def _named(named: str) -> SerializerProtocol:
    found = attribute_named("--serializer", named)
    try:
        made = found if _reads(found) and not isinstance(found, type) else found()
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        raise ConfigurationError(
            f"--serializer {named}: it cannot be called: {cause}; it takes an object with "
            "dumps_typed and loads_typed, or a function that makes one"
        ) from error
    if not _reads(made):
        raise ConfigurationError(
            f"--serializer {named}: a {type(made).__name__} is not a serializer; it takes an "
            "object with dumps_typed and loads_typed, or a function that makes one"
        )
    serde: SerializerProtocol = made
    return serde


def _reads(found: Any) -> bool:
    return hasattr(found, "loads_typed") and hasattr(found, "dumps_typed")


def _encrypted(variable: str) -> SerializerProtocol:
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    content = "the key of the agent's EncryptedSerializer"
    key = environment_key("--aes-key-env", variable, content)
    if len(key) not in _AES_BYTES:
        raise ConfigurationError(
            f"--aes-key-env {variable}: it holds {len(key)} bytes; a key of AES has 16, 24 or 32"
        )
    try:
        return EncryptedSerializer.from_pycryptodome_aes(key=key)
    except ImportError as error:
        raise ConfigurationError(
            "--aes-key-env needs a package that is not installed; run: pip install pycryptodome"
        ) from error
