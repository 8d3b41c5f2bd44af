"""Records: what goes in comes out, and nothing else does."""

from __future__ import annotations

import hashlib
import secrets
import tracemalloc
from typing import Any

import pytest
import zstandard

from interpstack import (
    ConfigurationError,
    Image,
    InterpreterStack,
    Persistence,
    RecordRejected,
    SessionState,
)
from interpstack.testing import PersistenceConformance
from interpstack_persistence.records import _covered

STACK = InterpreterStack(plugins=["persistence"])
KEY = b"0123456789abcdef"
STATE = SessionState(image=Image("quickjs", "base-1", b"\x00image\xff"), values={"a": [1, "é"]})


def mode(name: str = "thread", **options: Any) -> Persistence:
    return STACK.persistence(name)(**options)


def stored(state: SessionState = STATE, **options: Any) -> dict[str, Any]:
    record, notice = mode(**options).dump(state, "owner", 3)
    assert notice == ""
    return dict(record)


# -- modes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "stores"), [("thread", True), ("turn", False), ("call", False)])
def test_modes(name: str, stores: bool) -> None:
    made = mode(name)
    assert (made.name, made.scope, made.stores) == (name, name, stores)


def test_unknown_modes_list_the_known() -> None:
    with pytest.raises(ConfigurationError, match="'ever'; known: call, thread, turn"):
        STACK.persistence("ever")


# -- the kit -------------------------------------------------------------------------------


class TestThread(PersistenceConformance):
    def make_mode(self, **options: Any) -> Persistence:
        return mode("thread", **options)


class TestTurn(TestThread):
    def make_mode(self, **options: Any) -> Persistence:
        return mode("turn", **options)


class TestCall(TestThread):
    def make_mode(self, **options: Any) -> Persistence:
        return mode("call", **options)


# -- there and back ------------------------------------------------------------------------


def test_small_states_make_small_records() -> None:
    assert len(stored()["values"]) < 100


# -- damage --------------------------------------------------------------------------------


def changes() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [("version", 2), ("version", True), ("version", None)]
    for name, value in stored().items():
        found += [(name, None), (name, 1.5), (name, ...)]
        if isinstance(value, bytes):
            found += [(name, bytes([value[0] ^ 1]) + value[1:]), (name, value[:-1]), (name, b"")]
            found += [(name, value + b"\0"), (name, value.decode("latin-1"))]
        if isinstance(value, str):
            found += [(name, value + "x"), (name, value.encode())]
        if isinstance(value, int):
            found += [(name, value + 1), (name, -value), (name, str(value))]
    return found


@pytest.mark.parametrize(("name", "value"), changes())
def test_every_change_is_noticed_without_a_key(name: str, value: Any) -> None:
    record = stored()
    if value is ...:
        del record[name]
    else:
        record[name] = value
    with pytest.raises(RecordRejected):
        mode().load(record, "owner")


@pytest.mark.parametrize("record", [None, [], "text", 7, {}, {"version": 1}])
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(RecordRejected, match="damaged"):
        mode().load(record, "owner")


def test_parts_cannot_pass_for_one_another() -> None:
    first = stored(SessionState(image=Image("ab", "c", b"d")))
    second = stored(SessionState(image=Image("a", "bc", b"d")))
    assert first["checksum"] != second["checksum"]


# -- signatures ----------------------------------------------------------------------------


def test_a_signature_binds_owner_and_key() -> None:
    record = stored(signing_key=KEY)
    with pytest.raises(RecordRejected, match="another conversation"):
        mode(signing_key=KEY).load(record, "other")
    with pytest.raises(RecordRejected, match="another key"):
        mode(signing_key=KEY + b"x").load(record, "owner")


def test_without_a_key_signed_records_are_still_read() -> None:
    assert mode().load(stored(signing_key=KEY), "owner") == STATE


def test_a_signature_is_verified_before_anything_is_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = {**stored(signing_key=KEY), "values": b"not zstd", "version": 9}

    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("parsed")

    monkeypatch.setattr(zstandard, "ZstdDecompressor", never)
    with pytest.raises(RecordRejected, match="signature"):
        mode(signing_key=KEY).load(record, "owner")


# -- sizes ---------------------------------------------------------------------------------


def sealed(values: bytes) -> dict[str, Any]:
    """A record whose values are these bytes, as somebody without scruples would write it."""

    record = {**stored(SessionState(values={})), "values": values}
    return {**record, "checksum": hashlib.sha256(_covered(record, "owner")).digest()}


@pytest.mark.parametrize(
    "values",
    [
        zstandard.compress(b"not json"),
        zstandard.compress(b"[1]"),
        zstandard.compress(b"\xff"),
        zstandard.compress(b"[" * 200_000),
        zstandard.compress(b'{"a": 1}')[:-3],
        b"no frame",
    ],
)
def test_values_that_cannot_be_read_are_refused(values: bytes) -> None:
    with pytest.raises(RecordRejected, match="values are damaged"):
        mode().load(sealed(values), "owner")


def test_values_do_not_expand_without_end() -> None:
    bomb = zstandard.compress(bytes(256 * 2**20), 1)
    assert len(bomb) < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(RecordRejected, match="expand to more than"):
            mode().load(sealed(bomb), "owner")
        assert tracemalloc.get_traced_memory()[1] < 200 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("limit", "image", "values", "told"),
    [
        (None, True, True, False),
        (10_000, True, True, False),
        (500, False, True, True),
        (5, False, False, True),
    ],
)
def test_what_is_too_large_is_left_out(
    limit: int | None, image: bool, values: bool, told: bool
) -> None:
    state = SessionState(image=Image("e", "b", bytes(5000)), values={"a": 1})
    record, notice = mode(max_bytes=limit).dump(state, "owner", 1)
    assert (bool(record["image"]), bool(record["values"])) == (image, values)
    assert (f"more than the {limit} that are stored" in notice) == told
    loaded = mode(max_bytes=limit).load(record, "owner")
    assert loaded.values == ({"a": 1} if values else None)
    assert (loaded.image is not None) == image


def test_values_too_large_to_stand_beside_an_image_are_left_out() -> None:

    state = SessionState(image=Image("e", "b", b"i"), values={"a": secrets.token_hex(6 * 2**20)})
    loaded = mode().load(stored(state), "owner")
    assert loaded.image == state.image
    assert loaded.values is None


# -- a session -----------------------------------------------------------------------------


async def test_a_session_goes_through_a_record() -> None:
    async with STACK.session() as session:
        _, state = await session.eval_with_state("let n = 5; const add = k => n + k")
    record, _ = mode(signing_key=KEY).dump(state, "owner", 1)
    async with STACK.session() as session:
        assert await session.restore_state(mode(signing_key=KEY).load(record, "owner")) == ()
        assert (await session.eval("add(1)")).text == "6"
