"""The three modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from interpstack import Persistence, SessionState
from interpstack_persistence.records import pack_record, unpack_record

__all__ = ["CallMode", "ThreadMode", "TurnMode"]


class _Recorded(Persistence):
    def dump(
        self,
        state: SessionState,
        owner: str,
        sequence: int,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[Mapping[str, Any], str]:
        return pack_record(state, owner, sequence, earlier, self.max_bytes, self.signing_key)

    def load(
        self, record: Mapping[str, Any], owner: str, earlier: Sequence[Mapping[str, Any]] = ()
    ) -> SessionState:
        return unpack_record(record, owner, earlier, self.signing_key)


class ThreadMode(_Recorded):
    """Variables live as long as the conversation; a record follows every eval."""

    name: ClassVar[str] = "thread"
    scope: ClassVar[str] = "thread"


class TurnMode(_Recorded):
    """Variables live until the agent has given its answer."""

    name: ClassVar[str] = "turn"
    scope: ClassVar[str] = "turn"


class CallMode(_Recorded):
    """Variables live for one eval."""

    name: ClassVar[str] = "call"
    scope: ClassVar[str] = "call"
