"""The clock that a guest reads, for engines whose guest has none of its own.

The host tells the time once a poll, so that a run can be repeated. A clock that stood still in
between would keep a loop that waits for a moment from ever ending. So each reading moves it.
"""

from __future__ import annotations

from typing import Final

import attrs

__all__ = ["GuestClock"]

#: Seconds by which a reading moves the clock: the resolution of JavaScript's `Date`. A loop that
_STEP: Final = 0.001
#: Seconds that a new poll may leave the clock ahead of the host's: enough for what lies around a
#: call to be as long for the guest as it was. A loop that waited for longer is caught up with.
_LEAD: Final = 0.1


@attrs.define(repr=False)
class GuestClock:
    """The clock of one cell: its time depends only on the polls and on how often it was read.

    Attributes:
        time: The next reading, in seconds since 1970.
        host: The last time from the host.
    """

    time: float = 0.0
    host: float = 0.0

    def tell(self, now: float) -> None:
        """Set the host's time when a poll begins; the guest's time never goes back."""
        lead = min(max(0.0, self.time - self.host), _LEAD)
        self.time = max(self.time, now + lead)
        self.host = now

    def read(self) -> float:
        """Return the time in seconds since 1970, later than every earlier reading."""
        now = self.time
        self.time += _STEP
        return now
