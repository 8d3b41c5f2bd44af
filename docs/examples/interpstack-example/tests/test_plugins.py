"""The plugins as installed: found by name, and doing in a stack what they say."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from interpstack_example.progress import Progress
from interpstack_example.records import ReadableMode
from interpstack_example.text import MAX_CHARS

from interpstack import Cell, InterpreterStack, RecordRejected, SessionState

KEY = b"sixteen bytes or more"


def test_entry_points_are_installed() -> None:
    found = {e.name: e.value for e in entry_points(group="interpstack") if "example" in e.value}
    assert found == {
        "example": "interpstack_example.plugin",
        "postfix": "interpstack_example.postfix",
    }


def test_engine_is_found_by_name() -> None:
    with InterpreterStack("postfix", ["console", "example"]) as stack, stack.session() as session:
        outcome = session.eval_sync(
            '"counting" print ( "text" "one two" ) obj text.stats await "words" get'
        )
    assert (outcome.error, outcome.text, outcome.console) == (None, "2", "counting")


def test_bridge_checks_its_input() -> None:
    with InterpreterStack(plugins=["example"]) as stack, stack.session() as session:
        counted = session.eval_sync("await text.stats({text: 'a b\\nc'})")
        assert counted.text == "{lines: 2, words: 3, chars: 5}"
        error = session.eval_sync("await text.stats({text: 7})").error
        assert error is not None
        assert error.message == "text.stats: field 'text' takes a string; got 7"
        caught = session.eval_sync(
            f"try {{ await text.stats({{text: 'x'.repeat({MAX_CHARS + 1})}}) }}"
            " catch (e) { [e.name, e.tool, e.chars] }"
        )
        assert caught.text == f'["RangeError", "text.stats", {MAX_CHARS + 1}]'


def test_guest_source_reports_progress() -> None:
    with InterpreterStack(plugins=["example"]) as stack, stack.session() as session:
        outcome = session.eval_sync("progress(0.5, 'half'); progress(1, {all: true}); 'done'")
        assert (outcome.text, outcome.attachments) == (
            "done",
            (Progress(0.5, "half"), Progress(1.0, "{all: true}")),
        )
        error = session.eval_sync("progress(2)").error
        assert error is not None
        assert (error.name, error.message) == (
            "RangeError",
            "progress takes a fraction from 0 to 1",
        )
        assert session.eval_sync("typeof example").text == "undefined"


def test_prompt_section_is_for_javascript() -> None:
    with InterpreterStack(plugins=["example"]) as stack:
        assert "text.stats" in stack.prompt()
    with InterpreterStack("postfix", ["example"]) as stack:
        assert stack.prompt() == ""


@pytest.fixture
def state() -> SessionState:
    return SessionState(values={"total": 42, "f": {"$": "lost", "v": "it is a function"}})


@pytest.mark.parametrize("engine", ["quickjs", "postfix"])
async def test_state_survives_in_a_record(engine: str) -> None:
    store = "var total = 42" if engine == "quickjs" else '42 "total" set'
    with InterpreterStack(engine, ["example"]) as stack:
        mode = stack.persistence("readable")(signing_key=KEY)
        first, second = stack.session("first"), stack.session("second")
        _, kept = await first.eval_with_state(Cell(source=store))
        record, notice = mode.dump(kept, "thread-1", 1)
        assert (notice, record["values"]) == ("", '{"total": 42}')
        await second.restore_state(mode.load(record, "thread-1"))
        assert (await second.eval("total")).text == "42"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": '{"total": 43}'}, "was changed"),
        ({"sequence": 9}, "was changed"),
        ({"owner": "thread-2"}, "was changed"),
        ({"values": b"{}"}, "no valid 'values'"),
        ({"signature": ""}, "was changed"),
    ],
)
def test_changed_records_are_refused(
    state: SessionState, change: dict[str, object], message: str
) -> None:
    mode = ReadableMode(signing_key=KEY)
    record, _ = mode.dump(state, "thread-1", 1)
    assert mode.load(record, "thread-1") == state
    with pytest.raises(RecordRejected, match=message):
        mode.load({**record, **change}, "thread-1")


def test_records_are_bound_to_their_conversation(state: SessionState) -> None:
    mode = ReadableMode()
    record, _ = mode.dump(state, "thread-1", 1)
    with pytest.raises(RecordRejected, match="another conversation"):
        mode.load(record, "thread-2")
    with pytest.raises(RecordRejected, match="damaged"):
        mode.load({**record, "values": "[1"}, "thread-1")


def test_states_that_are_too_large_leave_a_notice(state: SessionState) -> None:
    mode = ReadableMode(max_bytes=10)
    record, notice = mode.dump(state, "thread-1", 1)
    assert "more than the 10" in notice
    assert mode.load(record, "thread-1").values == {}
