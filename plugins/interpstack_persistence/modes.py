"""The modes of this plugin, and the base class of modes with records of the same form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from interpstack import ConfigurationError, Image, SessionState
from interpstack.checks import shown
from interpstack_agents import Persistence
from interpstack_persistence.records import pack_record, unpack_record

__all__ = ["CallMode", "RecordedMode", "ThreadMode", "TurnMode"]

#: Bytes of the largest image of a turn that is stored with portable values beside it.
_VALUES_BESIDE: Final = 2**18


class RecordedMode(Persistence):
    """Base class of modes whose records hold the image of a state and its portable values."""

    def dump(
        self,
        state: SessionState,
        owner: str,
        sequence: int,
        earlier: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[Mapping[str, Any], str]:
        if not isinstance(state, SessionState):
            raise ConfigurationError(f"dump takes a SessionState; got {shown(state)}")
        return pack_record(state, owner, sequence, earlier, self.max_bytes, self.signing_key)

    def load(
        self, record: Mapping[str, Any], owner: str, earlier: Sequence[Mapping[str, Any]] = ()
    ) -> SessionState:
        return unpack_record(record, owner, earlier, self.signing_key)


class ThreadMode(RecordedMode):
    """Variables live as long as the conversation; a record follows every eval."""

    name: ClassVar[str] = "thread"
    scope: ClassVar[str] = "thread"


class TurnMode(RecordedMode):
    """Variables live until the agent has answered."""

    name: ClassVar[str] = "turn"
    scope: ClassVar[str] = "turn"

    def wants_values(self, image: Image) -> bool:
        # They are for the day the engine is upgraded, which hardly falls into a turn. Of a small
        # state they cost nothing; to look through a large one may take longer than the eval.
        size = len(image.data)
        return size <= _VALUES_BESIDE or (self.max_bytes is not None and size > self.max_bytes)


class CallMode(RecordedMode):
    """Variables live for one eval."""

    name: ClassVar[str] = "call"
    scope: ClassVar[str] = "call"
