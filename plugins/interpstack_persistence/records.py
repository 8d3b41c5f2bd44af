"""The stored form of a state.

A record holds the engine's image and the portable values, so that a state survives an upgrade of
the engine or a switch to another. Consecutive states of a session are similar, so most records hold
only the difference from the previous record, which is the dictionary of their compression. Such
records form a chain that begins with a complete one.

Each is covered by a checksum and, with a key, by a signature, together with the conversation it
belongs to and the checksum of the record before it. All of a chain is verified before anything in
it is parsed.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Final

from interpstack import SessionState
from interpstack_agents import RecordRejected
from interpstack_persistence.payloads import (
    MAX_EXPANDED,
    compress,
    compress_after,
    decompress,
    expanded_bytes,
    pack_payload,
    unpack_payload,
)
from interpstack_persistence.recent_payloads import RecentPayloads

__all__ = ["pack_record", "unpack_record"]

_VERSION: Final = 2
#: A record with a number that this divides is whole: so chains are short, and begin at the same
#: records where a store keeps copies of them now and then. No chain has more records.
_CHAIN: Final = 8
#: Above all numbers that a record counts to; Python writes no much longer ones as text.
_NUMBERS: Final = 10**1000
_Record = Mapping[str, Any]
_recent: Final = RecentPayloads()


def pack_record(
    state: SessionState,
    owner: str,
    sequence: int,
    earlier: Sequence[_Record],
    max_bytes: int | None,
    key: bytes | None,
) -> tuple[_Record, str]:
    """See `Persistence.dump`."""
    payload, notice = pack_payload(state, max_bytes)
    before = _payload_before(earlier, sequence, owner, key, len(payload))
    data = compress_after(before, payload) if before else None
    if data is None:
        before, data = b"", compress(payload)
    record: dict[str, Any] = {
        "version": _VERSION,
        "sequence": sequence,
        "previous": earlier[-1]["checksum"] if before else b"",
        "data": data,
    }
    record["checksum"] = hashlib.sha256(_covered(record, owner)).digest()
    _recent.replace(record["previous"], record["checksum"], payload)
    if key is not None:
        record["signature"] = _sign(record, owner, key)
    return record, notice


def unpack_record(
    record: _Record, owner: str, earlier: Sequence[_Record], key: bytes | None
) -> SessionState:
    """See `Persistence.load`."""
    return unpack_payload(_expanded(_verified([*earlier, record], owner, key)))


def _payload_before(
    earlier: Sequence[_Record], sequence: int, owner: str, key: bytes | None, size: int
) -> bytes:
    """The payload that a new record may build on; empty if the new record must be complete.

    Args:
        size: Bytes of the payload of the new record.
    """
    if not earlier or sequence % _CHAIN == 0:
        return b""
    try:
        chain = _verified(earlier, owner, key)
        # Of the new record, a frame and what it makes count.
        if len(chain) == _CHAIN or _expanded_bytes(chain) + 2 * size > MAX_EXPANDED:
            return b""
        return _recent.get(chain[-1]["checksum"]) or _expanded(chain)
    except RecordRejected:
        return b""  # it changed after it was loaded; new records must not depend on it


def _verified(records: Sequence[_Record], owner: str, key: bytes | None) -> list[_Record]:
    """The chain of the last of some records, each of which is verified."""
    for record in records:
        _check_shape(record)
    chain = _chain(records)
    for record in chain:
        _verify(record, owner, key)
    return chain


def _expanded(chain: Sequence[_Record]) -> bytes:
    """The payload of the last record of a verified chain.

    Without a key, anybody may have written the chain: all sizes are checked before the first
    record is expanded, so that a few kilobytes cost no more than one large state.
    """
    if _expanded_bytes(chain) > MAX_EXPANDED:
        raise RecordRejected(
            "the stored state is damaged: the records that it builds on expand to more than "
            f"{MAX_EXPANDED} bytes"
        )
    payload = b""
    for record in chain:
        payload = decompress(record["data"], payload)
    return payload


def _expanded_bytes(chain: Sequence[_Record]) -> int:
    """The largest number of bytes that expanding these records can make."""
    sizes = [expanded_bytes(record["data"]) for record in chain]
    if min(sizes) < 0:
        raise RecordRejected("the stored state is damaged: a record does not declare its size")
    return sum(sizes)


def _chain(records: Sequence[_Record]) -> list[_Record]:
    """The records that the last one builds on, from a whole one on."""
    known = {record["checksum"]: record for record in records[:-1]}
    chain = [records[-1]]
    while previous := chain[-1]["previous"]:
        found = known.pop(previous, None)
        if found is None:
            raise RecordRejected(
                "the stored state is damaged: an earlier record that it builds on is missing"
            )
        if len(chain) == _CHAIN:
            raise RecordRejected(
                f"the stored state is damaged: it builds on more than {_CHAIN - 1} earlier records"
            )
        chain.append(found)
    return chain[::-1]


def _verify(record: _Record, owner: str, key: bytes | None) -> None:
    if key is not None:
        signature = record.get("signature")
        if not isinstance(signature, bytes):
            raise RecordRejected("the stored state has no signature, but a signing key is set")
        if not hmac.compare_digest(signature, _sign(record, owner, key)):
            raise RecordRejected(
                "the stored state's signature does not match: it was changed, signed with another "
                "key, or belongs to another conversation"
            )
    if record["version"] != _VERSION:
        raise RecordRejected(f"the stored state has version {record['version']}, not {_VERSION}")
    if record["checksum"] != hashlib.sha256(_covered(record, owner)).digest():
        raise RecordRejected("the stored state is damaged, or belongs to another conversation")


def _check_shape(record: _Record) -> None:
    shape = {"version": int, "sequence": int, "previous": bytes, "data": bytes, "checksum": bytes}
    for name, kind in shape.items():
        value = record.get(name) if isinstance(record, Mapping) else None
        if type(value) is not kind or (isinstance(value, int) and not 0 <= value < _NUMBERS):
            raise RecordRejected(f"the stored state is damaged: it has no valid {name!r}")


def _sign(record: _Record, owner: str, key: bytes) -> bytes:
    return hmac.new(key, b"interpstack record\0" + _covered(record, owner), hashlib.sha256).digest()


def _covered(record: _Record, owner: str) -> bytes:
    """All that a record says, each part with its length, so that none can pass for another."""
    names = ("version", "sequence", "previous", "data")
    return b"".join(map(_part, (*(record[name] for name in names), owner)))


def _part(value: bytes | str | int) -> bytes:
    data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "big") + data
