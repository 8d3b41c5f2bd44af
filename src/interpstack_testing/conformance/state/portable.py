"""Portable values: a realm's variables in a form that other engines understand."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from interpstack.contracts.errors import ImageError, UnsupportedValue
from interpstack.contracts.protocol import Cell, SessionState
from interpstack.sync import run_sync
from interpstack.values.decoding import decode
from interpstack.values.encoding import encode
from interpstack_testing.conformance.areas import Area
from interpstack_testing.conformance.cell.crossing import lookalikes, normal
from interpstack_testing.conformance.kit import EngineKit, finish, poll
from interpstack_testing.conformance.state.damaged import DAMAGED, NAMES, stored_values

__all__ = ["PortableTests"]


class PortableTests(EngineKit, area=Area.VALUES):
    """Tests of engines that declare `Capability.VALUES`."""

    def test_values_move_to_a_new_realm(self) -> None:
        with self.realm() as first, self.realm() as second:
            finish(first, self.guest.store)
            values = first.values()
            assert list(values) == list(first.names())
            second.load(json.loads(json.dumps(values)))
            assert finish(second, self.guest.recall) == "42"
            first.close()

    def test_values_are_wire_trees(self) -> None:
        with self.realm() as realm:
            finish(realm, self.guest.store)
            finish(realm, self.sample("store_unportable"))
            for name, wire in realm.values().items():
                assert isinstance(name, str)
                try:
                    decode(json.loads(json.dumps(wire)))
                except UnsupportedValue:
                    assert wire["$"] == "lost"
                    assert isinstance(wire["v"], str)

    def test_values_that_change_when_they_are_read(self) -> None:
        async def main() -> None:
            for source in self.guest.store_unsteady:
                session = self.stack().session("unsteady")
                for cell in (self.guest.store, source, self.guest.recall, self.guest.recall):
                    outcome, state = await session.eval_with_state(cell)
                    assert outcome.ok, outcome.error
                    assert state is not None, source
                    json.dumps(dict(state.values or {}))
                assert outcome.text == "42"
                await session.aclose()

        self.run(main())

    def test_what_has_no_portable_form_throws_when_it_is_used(self) -> None:
        with self.realm() as first, self.realm() as second:
            finish(first, self.sample("store_unportable"))
            values = json.loads(json.dumps(dict(first.values())))
            assert [wire["$"] for wire in values.values()] == ["lost"]
            second.load(values)
            source = self.sample("recall_unportable")
            completion = poll(second.start(Cell(source=source, seed=1))).completion
            assert completion is not None
            assert completion.error is not None
            assert "was not restored because" in completion.error.message
            assert values == json.loads(json.dumps(dict(second.values())))

    def test_additions_to_the_language_are_named_as_lost(self) -> None:
        source, names = self.guest.store_additions
        if not source:
            pytest.skip("this guest language takes no additions")
        with self.realm() as first, self.realm() as second:
            finish(first, self.guest.store)
            assert all(isinstance(name, str) and name in first.names() for name in first.values())
            finish(first, source)
            values = json.loads(json.dumps(dict(first.values())))
            lost = [name for name, wire in values.items() if name not in first.names()]
            assert sorted(lost) == sorted(names)
            assert {values[name]["$"] for name in names} == {"lost"}
            second.load(values)
            assert finish(second, self.guest.recall) == "42"
            assert not set(names) & set(second.names())

    def test_values_that_would_change_are_lost_instead(self) -> None:
        for source, kind in self.guest.store_changing:
            with self.realm() as realm:
                finish(realm, source)
                wire = realm.values()["odd"]
                assert isinstance(wire, dict), source
                assert wire.get("$") == "lost", source
                assert f"(type: {kind})" in wire["v"]

    def test_values_that_are_portable_come_back(self) -> None:
        for source, recall, shown in self.guest.store_portable:
            with self.realm() as first, self.realm() as second:
                finish(first, source)
                second.load(json.loads(json.dumps(dict(first.values()))))
                assert finish(second, recall) == shown

    def test_what_variables_share_is_shared_again_or_lost(self) -> None:
        for source, recall, shown in self.guest.store_shared:
            with self.realm() as first, self.realm() as second:
                finish(first, source)
                second.load(json.loads(json.dumps(dict(first.values()))))
                completion = poll(second.start(Cell(source=recall, seed=1))).completion
                assert completion is not None
                if completion.error is None:
                    assert completion.text == shown
                else:
                    assert "was not restored because" in completion.error.message

    def test_references_to_nothing_cost_their_own_variable(self) -> None:
        with self.realm() as first, self.realm() as second:
            finish(first, self.guest.store)
            own = first.values()
            references = {
                "around": [{"$": "same", "v": ["back", 0]}],
                "back": [{"$": "same", "v": ["around", 1]}],
                "far": {"$": "same", "v": 2**40},
                "gone": [[{"$": "same", "v": ["missing", 0]}]],
                "proto": {"$": "same", "v": ["__proto__", 0]},
            }
            second.load({**references, **own})
            assert finish(second, self.guest.recall) == "42"
            found = second.values()
            assert {found[name]["$"] for name in ("far", "gone", "proto")} == {"lost"}

    def test_stored_objects_that_look_like_an_encoding_are_data(self) -> None:
        found = enumerate(lookalikes(self.guest.kinds))
        values = {f"kept{at}": encode(value) for at, value in found}
        with self.realm() as first, self.realm() as second:
            first.load(json.loads(json.dumps(values)))
            second.load(json.loads(json.dumps(dict(first.values()))))
            assert normal(dict(second.values())) == normal(values)

    def test_large_integers_cost_no_other_variable(self) -> None:
        with self.realm() as first, self.realm() as second:
            finish(first, self.guest.store)
            large = encode({"deep": [1 << 2**20]})
            second.load({"large": large, **first.values(), "larger": large["deep"][0]})
            assert finish(second, self.guest.recall) == "42"

    def test_what_is_loaded_can_be_declared_again(self) -> None:
        with self.realm() as first, self.realm() as second:
            finish(first, self.guest.store)
            second.load(first.values())
            finish(second, self.guest.redeclare)
            assert finish(second, self.guest.recall) == "2"

    def test_a_session_is_restored_from_values_alone(self) -> None:
        async def main() -> None:
            stack = self.stack()
            first, second = stack.session("first"), stack.session("second")
            outcome, state = await first.eval_with_state(self.guest.store)
            assert state is not None, outcome.notices
            notices = await second.restore_state(SessionState(values=state.values))
            assert notices
            assert (await second.eval(self.guest.recall)).text == "42"
            for session in (first, second):
                await session.aclose()

        self.run(main())

    def test_damaged_values_are_refused(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)
            for value in DAMAGED.values():
                with pytest.raises(ImageError, match="the stored value of 'loaded' is damaged"):
                    run_sync(session.load({"loaded": value}))
            for value in list(DAMAGED.values())[:3]:
                with pytest.raises(ImageError):
                    run_sync(session.restore_state(SessionState(values={"loaded": value})))
            self.assert_usable(session)

    def test_whatever_was_stored_is_loaded_or_refused(self) -> None:
        with self.session() as session:
            session.eval_sync(self.guest.store)

            @settings(max_examples=80, deadline=None, database=None)
            @given(stored_values, st.sampled_from(NAMES))
            @example({"$": "date", "v": 2.6e14}, "loaded")  # beyond Python's years
            def check(value: Any, name: str) -> None:
                with suppress(ImageError):
                    run_sync(session.load({name: value}))

            check()
            self.assert_usable(session)
