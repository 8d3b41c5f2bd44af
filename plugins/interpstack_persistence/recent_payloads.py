"""The payloads of the last records that this process made or read, by the records' checksums.

The next record of a conversation builds on them. A checksum covers the record, its conversation
and, through the checksum of the record before it, the whole chain: so it stands for one payload.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

__all__ = ["RecentPayloads"]

#: Bytes that are kept. To expand a shorter payload again takes less time than it is worth.
_MAX_BYTES: Final = 32 * 2**20
_SHORT: Final = 2**17


class RecentPayloads:
    """Keeps the payloads that were used last, up to 32 MiB. Any thread may use it."""

    def __init__(self) -> None:
        self._payloads: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, checksum: bytes) -> bytes | None:
        """The payload of the record with this checksum; `None` if it is not kept."""
        with self._lock:
            return self._payloads.get(checksum)

    def replace(self, before: bytes, checksum: bytes, payload: bytes) -> None:
        """Keep the payload of a record, in place of that of the record which it builds on.

        Args:
            before: Checksum of the record before; empty if there is none.
            checksum: Checksum of the record.
            payload: The payload.
        """
        if len(payload) < _SHORT:
            return
        with self._lock:
            for old in (before, checksum):
                self._bytes -= len(self._payloads.pop(old, b""))
            self._payloads[checksum] = payload
            self._bytes += len(payload)
            while self._bytes > _MAX_BYTES:
                self._bytes -= len(self._payloads.popitem(last=False)[1])
