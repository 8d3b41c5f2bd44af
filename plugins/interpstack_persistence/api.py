"""Names of this plugin that other plugins may import."""

from __future__ import annotations

from interpstack_persistence import hookspecs
from interpstack_persistence.modes import RecordedMode
from interpstack_persistence.payloads import compress, decompress, pack_payload, unpack_payload

__all__ = [
    "RecordedMode",
    "compress",
    "decompress",
    "hookspecs",
    "pack_payload",
    "unpack_payload",
]
