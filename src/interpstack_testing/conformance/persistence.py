"""Conformance tests for persistence modes."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, ClassVar, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpstack.contracts.errors import ImageError
from interpstack.contracts.offer import HostOffer
from interpstack.contracts.protocol import Image, SessionState
from interpstack.stack import InterpreterStack
from interpstack.sync import run_sync
from interpstack_agents import Persistence, PersistenceScope, RecordRejected
from interpstack_testing.conformance import rules
from interpstack_testing.conformance.state.damaged import DAMAGED
from interpstack_testing.conformance.texts import texts
from interpstack_testing.fake import FakeEngine

__all__ = ["PersistenceConformance"]

_KEY: Final = b"0123456789abcdef"
_OWNER: Final = "thread-1"
_STATE: Final = SessionState(
    image=Image("fake", "base-1", bytes(range(256)) * 4),
    values={"kept": 41, "text": "é\n", "lost": {"$": "lost", "v": "it is a function"}},
)
_PLAIN: Final = (int, float, str, bytes, bool, type(None))

_text = texts(20)
_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4),
    max_leaves=12,
)
_images = st.builds(Image, st.text(min_size=1), st.text(), st.binary(min_size=1))
_states = st.builds(
    SessionState,
    image=st.none() | _images,
    values=st.dictionaries(_text, _json, max_size=4),
)


@rules.kit
class PersistenceConformance(abc.ABC):
    """The tests of a persistence mode.

    ```python
    class TestReadable(PersistenceConformance):
        keeps_images = False

        def make_mode(self, **options):
            return ReadableMode(**options)
    ```

    Declare missing abilities of the mode in `gaps`, as for `EngineConformance`.
    """

    #: Whether records hold the engine's image; if not, they hold portable values alone.
    keeps_images: ClassVar[bool] = True
    #: What the mode cannot do, by test name, and why.
    gaps: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        rules.check_overrides(cls, PersistenceConformance)
        rules.mark_gaps(cls, PersistenceConformance)

    @abc.abstractmethod
    def make_mode(self, **options: Any) -> Persistence:
        """The mode under test, with the options of `Persistence`."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        rules.check_skips(metafunc.definition)

    # -- there and back --------------------------------------------------------------------

    def test_the_declaration_is_complete(self) -> None:
        mode = self.make_mode()
        assert mode.name
        assert mode.scope in tuple(PersistenceScope)
        assert mode.outlives_turn == (
            mode.scope in (PersistenceScope.THREAD, PersistenceScope.SHARED)
        )
        names_owner = type(mode).shared_key is not Persistence.shared_key
        assert names_owner or mode.scope != PersistenceScope.SHARED, (
            "shared_key says whose variables it uses"
        )

    def test_what_goes_in_comes_out(self) -> None:
        @settings(max_examples=60, deadline=None, database=None)
        @given(_states, _text, st.integers(0, 2**60), st.none() | st.binary(min_size=16))
        def check(state: SessionState, owner: str, sequence: int, key: bytes | None) -> None:
            mode = self.make_mode(signing_key=key)
            record, notice = mode.dump(state, owner, sequence)
            assert notice == ""
            assert record["sequence"] == sequence
            assert mode.load(record, owner) == self._kept(state)

        check()

    def test_records_are_plain_data(self) -> None:
        record, _ = self.make_mode(signing_key=_KEY).dump(_STATE, _OWNER, 1)
        assert {name: value for name, value in record.items() if type(value) not in _PLAIN} == {}

    def test_an_empty_state_is_not_a_lost_one(self) -> None:
        mode = self.make_mode()
        record, _ = mode.dump(SessionState(values={}), _OWNER, 1)
        assert mode.load(record, _OWNER) == SessionState(values={})

    def test_a_session_goes_through_a_record(self) -> None:
        mode = self.make_mode(signing_key=_KEY)
        with InterpreterStack(FakeEngine()) as stack, stack.session() as session:
            session.eval_sync("kept = 41")
            values = run_sync(session.values())
            record, _ = mode.dump(SessionState(values=values), _OWNER, 1)
        with InterpreterStack(FakeEngine()) as stack, stack.session() as session:
            run_sync(session.restore_state(mode.load(record, _OWNER)))
            assert session.eval_sync("kept + 1").text == "42"

    def test_states_outlive_the_engine_that_made_them(self) -> None:
        """An image that no engine can open any more leaves the values, with a notice."""
        mode = self.make_mode(signing_key=_KEY)
        record, _ = mode.dump(_STATE, _OWNER, 1)
        with InterpreterStack(FakeEngine()) as stack:
            with pytest.raises(ImageError):
                stack.engine.open(stack.limits, stack.bridge_set(HostOffer()), _STATE.image)
            with stack.session() as session:
                (notice,) = run_sync(session.restore_state(mode.load(record, _OWNER)))
                assert "lost" in notice
                assert session.eval_sync("kept + 1").text == "42"

    # -- refusals --------------------------------------------------------------------------

    def test_records_are_bound_to_their_conversation(self) -> None:
        for key in (None, _KEY):
            mode = self.make_mode(signing_key=key)
            record, _ = mode.dump(_STATE, _OWNER, 1)
            for other in ("thread-2", "", _OWNER + "1", "1"):
                with pytest.raises(RecordRejected):
                    mode.load(record, other)

    def test_what_is_no_record_is_refused(self) -> None:
        mode = self.make_mode(signing_key=_KEY)
        for record in ({}, {"version": 1}, {"sequence": 1}, {"values": "{}", "signature": ""}):
            with pytest.raises(RecordRejected):
                mode.load(record, _OWNER)

    @pytest.mark.parametrize("damage", ["flipped", "truncated", "longer", "missing", "other type"])
    def test_damaged_records_are_refused(self, damage: str) -> None:
        mode = self.make_mode(signing_key=_KEY)
        record, _ = mode.dump(_STATE, _OWNER, 7)
        for name, value in record.items():
            for changed in _damaged(value, damage):
                damaged = {**record, name: changed}
                if changed is ...:
                    del damaged[name]
                with pytest.raises(RecordRejected):
                    mode.load(damaged, _OWNER)

    def test_damage_is_never_another_error(self) -> None:
        """Without a key, not all damage is noticed, but none raises an unexpected error."""
        mode = self.make_mode()
        record, _ = mode.dump(_STATE, _OWNER, 7)
        kinds = ["flipped", "truncated", "longer", "missing", "other type"]
        for name, value in record.items():
            for changed in [item for kind in kinds for item in _damaged(value, kind)]:
                damaged = {key: v for key, v in {**record, name: changed}.items() if v is not ...}
                with suppress(RecordRejected):
                    mode.load(damaged, _OWNER)

    def test_damaged_values_in_a_sound_record_are_refused(self) -> None:
        mode = self.make_mode(signing_key=_KEY)
        with InterpreterStack(FakeEngine()) as stack, stack.session() as session:
            session.eval_sync("kept = 1")
            for what, value in DAMAGED.items():
                if what == "very deep":
                    continue  # no text of JSON
                record, _ = mode.dump(SessionState(values={"kept": value}), _OWNER, 1)
                with pytest.raises((ImageError, RecordRejected)):
                    run_sync(session.restore_state(mode.load(record, _OWNER)))
            assert session.eval_sync("kept").text == "1"

    def test_parts_of_other_records_are_refused(self) -> None:
        """Parts of an older record, or of another conversation's record, under the same key."""
        mode = self.make_mode(signing_key=_KEY)
        record, _ = mode.dump(_STATE, _OWNER, 7)
        other = SessionState(image=Image("fake", "base-2", b"other"), values={"kept": 1})
        older, _ = mode.dump(other, _OWNER, 6)
        foreign, _ = mode.dump(other, "thread-2", 7)
        for source in (older, foreign):
            for name, value in source.items():
                if value != record.get(name):
                    with pytest.raises(RecordRejected):
                        mode.load({**record, name: value}, _OWNER)

    def test_a_record_cannot_pass_for_a_newer_one(self) -> None:
        mode = self.make_mode(signing_key=_KEY)
        record, _ = mode.dump(_STATE, _OWNER, 7)
        for sequence in (6, 8, -7, 2**70):
            with pytest.raises(RecordRejected):
                mode.load({**record, "sequence": sequence}, _OWNER)

    def test_a_key_refuses_what_it_did_not_sign(self) -> None:
        unsigned, _ = self.make_mode().dump(_STATE, _OWNER, 1)
        foreign, _ = self.make_mode(signing_key=_KEY + b"x").dump(_STATE, _OWNER, 1)
        for record in (unsigned, foreign):
            with pytest.raises(RecordRejected):
                self.make_mode(signing_key=_KEY).load(record, _OWNER)

    # -- sizes -----------------------------------------------------------------------------

    def test_what_is_too_large_is_left_out_and_reported(self) -> None:
        values = {f"name{n}": f"value {n * 7919 % 10007}" * 3 for n in range(3000)}
        state = SessionState(image=Image("fake", "b", bytes(100_000)), values=values)
        whole, notice = self.make_mode().dump(state, _OWNER, 1)
        assert notice == ""
        mode = self.make_mode(max_bytes=1000)
        record, notice = mode.dump(state, _OWNER, 1)
        assert "1000" in notice
        assert _size(record) < 1000 + 2000 < _size(whole)
        loaded = mode.load(record, _OWNER)
        assert loaded.image is None
        assert not loaded.values

    def test_what_fits_is_whole(self) -> None:
        record, notice = self.make_mode(max_bytes=100_000).dump(_STATE, _OWNER, 1)
        assert notice == ""
        assert self.make_mode(max_bytes=100_000).load(record, _OWNER) == self._kept(_STATE)

    def _kept(self, state: SessionState) -> SessionState:
        return state if self.keeps_images else SessionState(values=state.values)


def _damaged(value: Any, damage: str) -> list[Any]:
    """Possible damage to a value of a record; `...` for a missing value."""
    if damage == "missing":
        return [...]
    if damage == "other type":
        others: list[Any] = [None, 1.5, [], {}, b"", "", 3]
        return [other for other in others if type(other) is not type(value)]
    if isinstance(value, int):
        return [value ^ 1, value + 2**32] if damage == "flipped" else []
    if not isinstance(value, (bytes, str)) or not value:
        return []
    if damage == "truncated":
        return [value[:-1], value[:0]]
    if isinstance(value, bytes):
        return [_flip(value, 0), _flip(value, -1)] if damage == "flipped" else [value + b"\0"]
    flipped = [chr(ord(value[0]) ^ 1) + value[1:], value[:-1] + chr(ord(value[-1]) ^ 1)]
    return flipped if damage == "flipped" else [value + " "]


def _flip(value: bytes, place: int) -> bytes:
    changed = bytearray(value)
    changed[place] ^= 1
    return bytes(changed)


def _size(record: Mapping[str, Any]) -> int:
    return sum(len(value) for value in record.values() if isinstance(value, (str, bytes)))
