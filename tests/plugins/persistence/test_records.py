"""Records: what goes in comes out, and nothing else does."""

from __future__ import annotations

import hashlib
import secrets
import struct
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack import (
    ConfigurationError,
    Image,
    InterpreterStack,
    SessionState,
)
from interpstack_agents import Persistence, RecordRejected, persistence_mode
from interpstack_persistence import records as records_module
from interpstack_persistence.payloads import decompress, unpack_payload
from interpstack_persistence.records import _covered
from interpstack_testing import PersistenceConformance
from interpstack_testing.conformance.texts import texts

STACK = InterpreterStack(plugins=["persistence"])
KEY = b"0123456789abcdef"
STATE = SessionState(image=Image("quickjs", "base-1", b"\x00image\xff"), values={"a": [1, "é"]})


def mode(name: str = "thread", **options: Any) -> Persistence:
    return persistence_mode(STACK, name)(**options)


def stored(state: SessionState = STATE, **options: Any) -> dict[str, Any]:
    record, notice = mode(**options).dump(state, "owner", 3)
    assert notice == ""
    return dict(record)


# -- modes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "stores"), [("thread", True), ("turn", False), ("call", False)])
def test_modes(name: str, stores: bool) -> None:
    made = mode(name)
    assert (made.name, made.scope, made.outlives_turn) == (name, name, stores)


def test_unknown_modes_list_the_known() -> None:
    with pytest.raises(ConfigurationError, match="'ever'; known: call, thread, turn"):
        persistence_mode(STACK, "ever")


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

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
images = st.builds(Image, st.text(min_size=1), st.text(), st.binary(min_size=1))


@settings(deadline=None)
@given(
    image=images | st.none(),
    values=st.dictionaries(texts(), values) | st.none(),
    owner=texts(),
    sequence=st.integers(0),
    key=st.binary(min_size=16) | st.none(),
)
def test_what_goes_in_comes_out(
    image: Image | None,
    values: Mapping[str, Any] | None,
    owner: str,
    sequence: int,
    key: bytes | None,
) -> None:
    made = mode(signing_key=key)
    state = SessionState(image=image, values=values)
    record, notice = made.dump(state, owner, sequence)
    assert notice == ""
    assert record["sequence"] == sequence
    assert made.load(record, owner) == state
    with pytest.raises(RecordRejected):
        made.load(record, owner + "'")


def chain(states: list[SessionState], **options: Any) -> list[dict[str, Any]]:
    """Records of one conversation, each made with the ones before it at hand."""
    made, records = mode(**options), list[dict[str, Any]]()
    for sequence, state in enumerate(states, 1):
        records.append(dict(made.dump(state, "owner", sequence, records)[0]))
    return records


@settings(deadline=None)
@given(
    states=st.lists(
        st.builds(
            SessionState, image=images | st.none(), values=st.dictionaries(st.text(), values)
        ),
        min_size=2,
        max_size=10,
    ),
    key=st.binary(min_size=16) | st.none(),
)
def test_every_record_of_a_chain_gives_its_state(
    states: list[SessionState], key: bytes | None
) -> None:
    records = chain(states, signing_key=key)
    for index, state in enumerate(states):
        assert mode(signing_key=key).load(records[index], "owner", records[:index]) == state


LONG = [SessionState(image=Image("quickjs", "base", secrets.token_bytes(20_000)), values={"n": 0})]
LONG += [SessionState(image=LONG[0].image, values={"n": n}) for n in range(1, 20)]


def test_records_tell_only_what_changed() -> None:
    records = chain(LONG)
    whole = [record["sequence"] for record in records if not record["previous"]]
    assert whole == [1, 8, 16]
    assert all(len(r["data"]) < 200 for r in records if r["sequence"] not in whole)


@pytest.fixture
def expanded(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The data of the records that were expanded, in order."""
    seen: list[bytes] = []

    def noting(data: bytes, before: bytes) -> bytes:
        seen.append(data)
        return decompress(data, before)

    monkeypatch.setattr(records_module, "decompress", noting)
    return seen


def test_a_chain_expands_to_no_more_than_one_large_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record of a chain may be large, but all together are no larger than one state."""
    monkeypatch.setattr(records_module, "MAX_EXPANDED", 10 * 2**20)
    long = SessionState(image=Image("e", "b", bytes(4 * 2**20)))
    records = chain([STATE, long, long, STATE, STATE])
    assert [not record["previous"] for record in records] == [True, False, True, False, False]
    for index, state in enumerate([STATE, long, long, STATE, STATE]):
        assert mode().load(records[index], "owner", records[:index]) == state


@pytest.mark.parametrize("size", [2**18, 2**20, 5 * 2**20, 20 * 2**20])
def test_large_states_build_on_each_other_too(size: int) -> None:
    data = secrets.token_bytes(size)
    first = SessionState(image=Image("e", "b", data))
    second = SessionState(image=Image("e", "b", data[: size // 2] + b"new" + data[size // 2 :]))
    records = chain([first, second])
    assert len(records[1]["data"]) < 1000
    assert mode().load(records[1], "owner", records[:1]) == second


def test_a_large_state_that_has_nothing_of_the_one_before_is_whole() -> None:
    first, second = (
        SessionState(image=Image("e", "b", secrets.token_bytes(17 * 2**20))) for _ in range(2)
    )
    records = chain([first, second])
    assert not records[1]["previous"]
    assert mode().load(records[1], "owner") == second


@pytest.mark.parametrize("key", [None, KEY], ids=["unsigned", "signed"])
@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("name", ["data", "previous", "checksum", "sequence", "gone"])
def test_a_chain_is_as_sound_as_its_weakest_link(name: str, index: int, key: bytes | None) -> None:
    *earlier, record = chain(LONG[:5], signing_key=key)
    if name == "gone":
        del earlier[index]
    elif name == "sequence":
        earlier[index]["sequence"] += 1
    else:
        earlier[index][name] = bytes(b ^ 1 for b in earlier[index][name]) or b"link"
    with pytest.raises(RecordRejected):
        mode(signing_key=key).load(record, "owner", earlier)


def test_links_that_go_in_circles_are_refused() -> None:
    records = chain(LONG[:3])
    records[0]["previous"] = records[1]["checksum"]
    with pytest.raises(RecordRejected, match="is missing"):
        mode().load(records[2], "owner", records[:2])


def forged(*payloads: bytes) -> list[dict[str, Any]]:
    """A chain that anybody can write without a key: each record builds on the one before."""
    records = list[dict[str, Any]]()
    for sequence, payload in enumerate(payloads, 1):
        record: dict[str, Any] = {
            "version": 2,
            "sequence": sequence,
            "previous": records[-1]["checksum"] if records else b"",
            "data": zstandard.ZstdCompressor().compress(payload),
        }
        record["checksum"] = hashlib.sha256(_covered(record, "owner")).digest()
        records.append(record)
    return records


def test_a_chain_has_a_largest_length(expanded: list[bytes]) -> None:
    """Each record of some kilobytes may expand to 256 MiB, and take most of a second."""
    *earlier, record = forged(*(bytes(2**20) for _ in range(9)))
    with pytest.raises(RecordRejected, match="builds on more than 7 earlier records"):
        mode().load(record, "owner", earlier)
    assert expanded == []
    with pytest.raises(RecordRejected, match="its length is wrong"):
        mode().load(earlier[7], "owner", earlier[:7])
    assert len(expanded) == 8


def test_a_chain_is_not_expanded_if_its_records_are_too_large(expanded: list[bytes]) -> None:
    *earlier, record = forged(b"small", *(bytes(90 * 2**20) for _ in range(3)), b"last")
    with pytest.raises(RecordRejected, match="expand to more than 268435456 bytes"):
        mode().load(record, "owner", earlier)
    assert expanded == []


def test_a_chain_that_could_not_be_read_is_not_made() -> None:
    """Also where a caller gives many records one number."""
    records = list[dict[str, Any]]()
    for state in LONG[:12]:
        records.append(dict(mode().dump(state, "owner", 1, records)[0]))
    assert [not record["previous"] for record in records] == ([True] + 7 * [False]) + (
        [True] + 3 * [False]
    )
    assert mode().load(records[11], "owner", records[:11]) == LONG[11]


def test_a_signed_chain_takes_no_unsigned_link() -> None:
    *earlier, record = chain(LONG[:3], signing_key=KEY)
    del earlier[0]["signature"]
    with pytest.raises(RecordRejected, match="has no signature"):
        mode(signing_key=KEY).load(record, "owner", earlier)


def test_links_of_another_conversation_do_not_fit() -> None:
    record = chain(LONG[:3])[-1]
    theirs = [dict(mode().dump(state, "other", 1, [])[0]) for state in LONG[:2]]
    with pytest.raises(RecordRejected, match="is missing"):
        mode().load(record, "owner", theirs)


def test_a_record_behind_damaged_ones_is_whole() -> None:
    records = chain(LONG[:3])
    records[1]["data"] += b"?"
    record, _ = mode().dump(LONG[3], "owner", 4, records)
    assert record["previous"] == b""
    assert mode().load(record, "owner") == LONG[3]


def test_more_records_than_needed_do_no_harm() -> None:
    records = chain(LONG[:12])
    assert mode().load(records[9], "owner", records) == LONG[9]


def test_records_are_plain_data() -> None:
    assert {type(v) for v in stored(signing_key=KEY).values()} <= {int, str, bytes}


def test_an_empty_state_is_not_a_lost_one() -> None:
    assert mode().load(stored(SessionState(values={})), "owner") == SessionState(values={})


def test_small_states_make_small_records() -> None:
    assert len(stored()["data"]) < 100


# -- damage --------------------------------------------------------------------------------


def changes() -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [("version", 1), ("version", True), ("version", None)]
    for name, value in stored().items():
        found += [(name, None), (name, 1.5), (name, ...)]
        if isinstance(value, bytes):
            if value:
                found += [(name, bytes([value[0] ^ 1]) + value[1:]), (name, value[:-1])]
                found.append((name, b""))
            found += [(name, value + b"\0"), (name, value.decode("latin-1"))]
        if isinstance(value, str):
            found += [(name, value + "x"), (name, value.encode())]
        if isinstance(value, int):
            found += [(name, value + 1), (name, -value), (name, str(value))]
    return found


@pytest.mark.parametrize("name", ["version", "sequence"])
@pytest.mark.parametrize("key", [None, KEY])
def test_numbers_have_a_length(name: str, key: bytes | None) -> None:
    record = {**stored(signing_key=key), name: 10**5000}  # more digits than Python writes
    with pytest.raises(RecordRejected, match=f"it has no valid '{name}'"):
        mode(signing_key=key).load(record, "owner")


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.pop("signature"), "has no signature"),
        (lambda r: r.update(signature="text"), "has no signature"),
        (lambda r: r.update(signature=bytes(32)), "does not match"),
        (lambda r: r.update(sequence=9), "does not match"),
        (lambda r: r.update(data=b"other"), "does not match"),
    ],
)
def test_a_signature_covers_all_of_it(change: Any, message: str) -> None:
    record = stored(signing_key=KEY)
    change(record)
    with pytest.raises(RecordRejected, match=message):
        mode(signing_key=KEY).load(record, "owner")


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
    record = {**stored(signing_key=KEY), "data": b"not zstd", "version": 9}

    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("parsed")

    monkeypatch.setattr(zstandard, "ZstdDecompressor", never)
    with pytest.raises(RecordRejected, match="signature"):
        mode(signing_key=KEY).load(record, "owner")


# -- sizes ---------------------------------------------------------------------------------


def sealed(data: bytes) -> dict[str, Any]:
    """A record with these data, as somebody without scruples would write it."""
    record = {**stored(), "data": data}
    return {**record, "checksum": hashlib.sha256(_covered(record, "owner")).digest()}


def payload(names: bytes, image: bytes, values: bytes) -> bytes:
    """A compressed state."""
    lengths = struct.pack("<III", len(names), len(image), len(values))
    return zstandard.compress(lengths + names + image + values)


def test_the_forger_can_be_right() -> None:
    state = mode().load(sealed(payload(b'["e", "b"]', b"i", b'{"a": 1}')), "owner")
    assert state == SessionState(image=Image("e", "b", b"i"), values={"a": 1})


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no frame",
        zstandard.compress(b""),
        zstandard.compress(b"short"),
        payload(b"", b"", b"not json"),
        payload(b"", b"", b"[1]"),
        payload(b"", b"", b"\xff"),
        payload(b"", b"", b"[" * 200_000),
        payload(b"", b"", b"{}")[:-3],
        payload(b'["e"]', b"i", b"{}"),
        payload(b'["e", 1]', b"i", b"{}"),
        payload(b"{}", b"i", b"{}"),
        zstandard.compress(struct.pack("<III", 2**32 - 1, 2**32 - 1, 5) + b"{}"),
        zstandard.compress(struct.pack("<III", 0, 0, 1) + b"{}"),
        zstandard.ZstdCompressor(write_content_size=False).compress(struct.pack("<III", 0, 0, 0)),
    ],
)
def test_data_that_cannot_be_read_are_refused(data: bytes) -> None:
    with pytest.raises(RecordRejected, match="the stored state"):
        mode().load(sealed(data), "owner")


def test_data_do_not_expand_without_end() -> None:
    bomb = zstandard.compress(bytes(300 * 2**20), 1)
    assert len(bomb) < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(RecordRejected, match="expand to more than"):
            mode().load(sealed(bomb), "owner")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("limit", "image", "values", "found"),
    [
        (None, True, True, False),
        (10_000, True, True, False),
        (500, False, True, True),
        (5, False, False, True),
    ],
)
def test_what_is_too_large_is_left_out(
    limit: int | None, image: bool, values: bool, found: bool
) -> None:
    state = SessionState(image=Image("e", "b", bytes(5000)), values={"a": 1})
    record, notice = mode(max_bytes=limit).dump(state, "owner", 1)
    assert (f"more than the {limit} that are stored" in notice) == found
    loaded = mode(max_bytes=limit).load(record, "owner")
    assert loaded.values == ({"a": 1} if values else None)
    assert (loaded.image is not None) == image


NO_ROOM = {"$": "lost", "v": "the stored values have no room for it"}


def test_values_too_large_to_stand_beside_an_image_are_left_out_by_name() -> None:
    values = {"a": secrets.token_hex(9 * 2**20), "b": [1]}
    state = SessionState(image=Image("e", "b", b"i"), values=values)
    loaded = mode().load(stored(state), "owner")
    assert loaded.image == state.image
    assert loaded.values == {"a": NO_ROOM, "b": [1]}


def test_the_largest_values_are_left_out_and_named_where_all_have_no_room() -> None:
    values = {"c": "x" * 400, "a": "x" * 900, "b": "x" * 500, "d": 1}
    record, notice = mode(max_bytes=700).dump(SessionState(values=values), "owner", 1)
    assert notice.endswith(" Not stored: a, b.")
    loaded = mode(max_bytes=700).load(record, "owner").values
    assert loaded == {**values, "a": NO_ROOM, "b": NO_ROOM}


def test_a_notice_names_all_that_a_state_without_its_image_lacks() -> None:
    values = {"f": {"$": "lost", "v": "it is not serializable (type: function)"}, "n": 1}
    state = SessionState(image=Image("e", "b", bytes(5000)), values=values)
    record, notice = mode(max_bytes=500).dump(state, "owner", 1)
    assert notice.endswith(" Not stored: f.")
    assert mode(max_bytes=500).load(record, "owner") == SessionState(values=values)


@pytest.mark.parametrize(
    ("name", "size", "wanted"),
    [("turn", 2**18, True), ("turn", 2**18 + 1, False), ("turn", 2**20 + 1, True)]
    + [(name, 2**19, True) for name in ("thread", "call")],
)
def test_large_states_of_a_turn_are_images_alone(name: str, size: int, wanted: bool) -> None:
    image = Image("quickjs", "base-1", bytes(size))
    assert mode(name, max_bytes=2**20).wants_values(image) is wanted
    assert mode(name).wants_values(image) is (wanted and size < 2**20)


# -- a session -----------------------------------------------------------------------------


async def test_a_session_goes_through_a_record() -> None:
    async with STACK.session() as session:
        _, state = await session.eval_with_state("let n = 5; const add = k => n + k")
    record, _ = mode(signing_key=KEY).dump(state, "owner", 1)
    async with STACK.session() as session:
        assert await session.restore_state(mode(signing_key=KEY).load(record, "owner")) == ()
        assert (await session.eval("add(1)")).text == "6"


def test_values_larger_than_any_that_are_stored_are_not_parsed() -> None:
    text = b"[" * (16 * 2**20 + 1)
    payload = struct.pack("<III", 0, 0, len(text)) + text
    with pytest.raises(RecordRejected, match="its values have more than"):
        unpack_payload(payload)
