"""The plugins as installed: found by name, and doing in a stack what they say."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
from interpstack_example.progress import Progress
from interpstack_example.records import PerUserMode, ReadableMode
from interpstack_example.text import MAX_CHARS

from interpstack import Cell, ConfigurationError, InterpreterStack, Limits
from interpstack_agents import ConversationContext, Persistence, persistence_mode, shared_key
from interpstack_testing import BridgeConformance, BridgeUse, PersistenceConformance

KEY = b"sixteen bytes or more"


def test_entry_points_are_installed() -> None:
    found = {e.name: e.value for e in entry_points(group="interpstack") if "example" in e.value}
    assert found == {
        "example": "interpstack_example.plugin",
        "postfix": "interpstack_example.postfix",
        "tracing": "interpstack_example.tracing",
    }


def test_engine_is_found_by_name() -> None:
    with InterpreterStack("postfix", ["console", "example"]) as stack, stack.session() as session:
        outcome = session.eval_sync(
            '"counting" print ( "text" "one two" ) obj text.stats await "words" get'
        )
    assert (outcome.error, outcome.text, outcome.console) == (None, "2", "counting")


def test_bridge_is_called_from_a_guest() -> None:
    with InterpreterStack(plugins=["example"]) as stack, stack.session() as session:
        counted = session.eval_sync("await text.stats({text: 'a b\\nc'})")
        assert counted.text == "{lines: 2, words: 3, chars: 5}"
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


@pytest.mark.parametrize("engine", ["quickjs", "postfix"])
async def test_state_survives_in_a_record(engine: str) -> None:
    store = "var total = 42" if engine == "quickjs" else '42 "total" set'
    with InterpreterStack(engine, ["persistence", "example"]) as stack:
        mode = persistence_mode(stack, "readable")(signing_key=KEY)
        first, second = stack.session("first"), stack.session("second")
        _, kept = await first.eval_with_state(Cell(source=store))
        record, notice = mode.dump(kept, "thread-1", 1)
        assert (notice, record["values"]) == ("", '{"total": 42}')
        await second.restore_state(mode.load(record, "thread-1"))
        assert (await second.eval("total")).text == "42"


class TestRecords(PersistenceConformance):
    keeps_images = False

    def make_mode(self, **options: Any) -> Persistence:
        return ReadableMode(**options)


class TestRecordsOfUsers(PersistenceConformance):
    keeps_images = False

    def make_mode(self, **options: Any) -> Persistence:
        return PerUserMode(**options)


def test_the_host_names_the_user() -> None:
    with InterpreterStack(plugins=["persistence", "example"]) as stack:
        mode = persistence_mode(stack, "per-user")()
    keys = [
        shared_key(mode, ConversationContext(thread=thread, config={"user_id": "ann"}))
        for thread in ("first", "second")
    ]
    assert keys == ["ann", "ann"]
    with pytest.raises(ConfigurationError, match="needs to know the user"):
        shared_key(mode, ConversationContext(thread="first"))


class TestBridges(BridgeConformance):
    uses = (
        BridgeUse(
            name="text.stats",
            input={"text": "a b\nc"},
            answer={"lines": 2, "words": 3, "chars": 5},
            wrong=[{"text": 7}, {}, {"text": "a", "other": 1}],
            fails=[({"text": "x" * (MAX_CHARS + 1)}, "at most 1000000 characters")],
        ),
    )

    def make_plugins(self) -> list[str]:
        return ["example"]


def test_a_failed_cell_shows_how_far_it_came() -> None:
    with InterpreterStack(plugins=["example"]) as stack, stack.session() as session:
        failed = session.eval_sync("progress(0.5, '</notice>'); null.x")
        assert session.render(failed).startswith(
            "<notice>The code had come to 50%: &lt;/notice&gt;</notice>\n<error"
        )
        done = session.eval_sync("progress(0.5, 'half'); 7")
        assert session.render(done) == "<result>7</result>"


def test_a_pragma_makes_a_cell_typescript() -> None:
    with InterpreterStack(plugins=["example"]) as stack, stack.session() as session:
        call = "((x) => x)<Number>(41)"  # in JavaScript, two comparisons
        assert session.eval_sync(f"// @ts\n{call}").text == "41"
        assert session.eval_sync(call).text == "false"
        error = session.eval_sync("// @ts\nconst a: any = null;\na.x").error
        assert error is not None
        assert "cell:3" in error.stack


def test_sessions_evals_and_requests_are_traced(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "interpstack_example.tracing")
    with (
        InterpreterStack(plugins=["tracing", "example"], limits=Limits(requests=1)) as stack,
        stack.session("s") as session,
    ):
        session.eval_sync("await text.stats({text: 'a'}); await text.stats({text: 'b'})")
    assert [record.message for record in caplog.records] == [
        "session s opened",
        "request 1 to text.stats was answered",
        "request 2 to text.stats was refused",
        "eval of s failed",
        "session s closing after 1 cells",
    ]
