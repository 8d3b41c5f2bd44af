"""Persistence modes whose records people can read: for a conversation, and for a user.

They keep portable values only, as JSON text: no functions, no classes, but nothing that depends
on an engine or its version.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from interpstack import ConfigurationError, SessionState
from interpstack_agents import ConversationContext, Persistence, PersistenceScope, RecordRejected

__all__ = ["PerUserMode", "ReadableMode"]


class ReadableMode(Persistence):
    """Variables live as long as the conversation, if they are data."""

    name: ClassVar[str] = "readable"
    scope: ClassVar[str] = PersistenceScope.THREAD

    def dump(
        self,
        state: SessionState,
        owner: str,
        sequence: int,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[Mapping[str, Any], str]:
        values, notice = json.dumps(dict(state.values or {}), sort_keys=True), ""
        if self.max_bytes is not None and len(values) > self.max_bytes:
            notice = f"Variables are not kept: they have {len(values)} bytes as JSON, more than "
            notice += f"the {self.max_bytes} that are stored."
            values = "{}"
        record = {"sequence": sequence, "owner": owner, "values": values}
        return {**record, "signature": self._sign(record)}, notice

    def load(
        self, record: Mapping[str, Any], owner: str, earlier: Sequence[Mapping[str, Any]] = ()
    ) -> SessionState:
        shape = {"sequence": int, "owner": str, "values": str, "signature": str}
        for field, kind in shape.items():
            if type(record.get(field)) is not kind:
                raise RecordRejected(f"the stored state has no valid {field!r}")
        if not hmac.compare_digest(record["signature"], self._sign(record)):
            raise RecordRejected("the stored state was changed, or signed with another key")
        if record["owner"] != owner:
            raise RecordRejected("the stored state belongs to another conversation")
        return SessionState(values=_parse(record["values"]))

    def _sign(self, record: Mapping[str, Any]) -> str:
        if self.signing_key is None:
            return ""
        signed = json.dumps([record["sequence"], record["owner"], record["values"]]).encode()
        return hmac.new(self.signing_key, signed, hashlib.sha256).hexdigest()


class PerUserMode(ReadableMode):
    """Variables belong to a user, whose conversations all share them.

    The host names the user, as in `agent.invoke(…, {"configurable": {"user_id": "ann"}})`.
    """

    name: ClassVar[str] = "per-user"
    scope: ClassVar[str] = PersistenceScope.SHARED
    lifetime: ClassVar[str] = "Variables that hold data persist, for all talks with this user."

    def shared_key(self, conversation: ConversationContext) -> str:
        user = conversation.config.get("user_id")
        if not isinstance(user, str) or not user:
            raise ConfigurationError(
                "mode='per-user' needs to know the user; run the agent with "
                '{"configurable": {"user_id": "…"}}'
            )
        return user


def _parse(text: str) -> Mapping[str, Any]:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordRejected(f"the stored values are damaged: {error}") from error
    if not isinstance(values, dict):
        raise RecordRejected("the stored values are damaged: they are not an object")
    return values
