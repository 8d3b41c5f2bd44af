"""The store for the journal of one eval, among the writes of a checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from graph_tasks import Notes, stored_checkpoint, task_config
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from interpstack import GuestError, Request
from interpstack_durable.api import UnreadableJournal
from interpstack_langchain.durability.checkpoint_stores import CheckpointStore, Shared
from interpstack_langchain.durability.checkpoint_writes import CheckpointWrites
from interpstack_langchain.durability.databases import Database
from interpstack_langchain.langgraph_internals.call_scopes import Checkpoint
from interpstack_langchain.rules.decisions import Editable


class Saver(InMemorySaver):
    """A checkpointer whose writes may fail."""

    fails = False

    async def aput_writes(self, *args: Any) -> None:
        if self.fails:
            raise OSError("the disk is full")
        await super().aput_writes(*args)


@attrs.define
class Step:
    """One step of a graph, whose evals may be run several times."""

    saver: Saver = attrs.field(factory=Saver)
    store: Any = None
    shared: Shared = attrs.field(factory=Shared)
    checkpoint: str = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.checkpoint = stored_checkpoint(self.saver)

    def run(self, key: str = "eval", *, resuming: bool = True, shared: Any = None) -> Any:
        """The store for a run of an eval, by default of a process that resumes it."""
        config = task_config(saver=self.saver, checkpoint=self.checkpoint, resuming=resuming)
        checkpoint = Checkpoint.of(config)
        assert checkpoint is not None
        return CheckpointStore(
            key=key,
            writes=CheckpointWrites(checkpoint, is_async=True),
            config=config,
            store=self.store,
            shared=shared or Shared(signing_key=self.shared.signing_key),
            editable=Editable([], [], "eval"),
        )


#: The first entry of a journal as it is stored.
FIRST = {"n": 0, "thread": True}


def answering(*ids: int) -> dict[str, Any]:
    """An entry with the answers to requests."""
    return {"form": 3, "asked": [], "now": 1.0, "settled": [[one, "1", None] for one in ids]}


def updating(value: int) -> Command[Any]:
    return Command(update={"n": value})


def updates(run: CheckpointStore) -> list[tuple[int, Any]]:
    return [(number, command.update) for number, command in run.commands]


@pytest.fixture
def step() -> Step:
    return Step()


# -- entries -------------------------------------------------------------------------------


async def test_a_resumed_eval_has_its_entries_in_order_and_no_other_eval_s(step: Step) -> None:
    first, other = step.run(resuming=False), step.run("other", resuming=False)
    for index in range(12):
        await first.append(index, {"n": index})
    await other.append(0, {"n": "other"})
    assert await step.run().load() == [FIRST, *({"n": index} for index in range(1, 12))]
    assert await step.run("nobody").load() == []


async def test_a_first_run_reads_nothing(step: Step) -> None:
    await step.run(resuming=False).append(0, {"n": 0})
    assert await step.run(resuming=False).load() == []


async def test_a_first_run_that_waited_for_another_one_reads_its_entries(step: Step) -> None:
    await step.run(resuming=False).append(0, {"n": 0})
    late = step.run(resuming=False)
    late.run_in(Database(None), after_another=True)
    assert await late.load() == [FIRST]


async def test_the_first_entry_describes_the_eval_for_a_replay(step: Step) -> None:
    run = step.run(resuming=False)
    about = {"offered": ["tools.pay"], "language": "javascript"}
    run.describe({"offered": []})
    run.describe(about)
    run.begin_without_state()
    await run.append(0, {"n": 0})
    await run.append(1, {"n": 1})
    assert await step.run().load() == [{**FIRST, **about, "stateless": True}, {"n": 1}]


async def test_an_entry_that_could_not_be_stored_is_written_by_the_next_run(step: Step) -> None:
    shared = step.shared
    run = step.run(resuming=False, shared=shared)
    await run.append(0, {"n": 0})
    step.saver.fails = True
    with pytest.raises(OSError, match="disk is full"):
        await run.append(1, {"n": 1})
    step.saver.fails = False
    again = step.run(resuming=False, shared=shared)
    assert await again.load() == [FIRST, {"n": 1}]
    assert await step.run().load() == [FIRST, {"n": 1}], "it is stored now"


async def test_notes_that_could_not_be_stored_are_not_remembered(step: Step) -> None:
    """A decision that failed to be recorded does not count: another one can be made."""
    run = step.run(resuming=False, shared=step.shared)
    await run.append(0, {"n": 0})
    step.saver.fails = True
    with pytest.raises(OSError, match="disk is full"):
        await run.append(1, {"notes": {"decision 1": "approve"}})
    step.saver.fails = False
    again = step.run(resuming=False, shared=step.shared)
    assert await again.load() == [FIRST]


async def test_an_eval_that_has_ended_is_not_remembered(step: Step) -> None:
    run = step.run(resuming=False, shared=step.shared)
    await run.append(0, {"n": 0})
    assert step.shared.remembered.of("eval") == {0: FIRST}
    await run.ended()
    assert step.shared.remembered.of("eval") == {}


async def test_an_eval_inside_another_is_forgotten_with_the_outer_one(step: Step) -> None:
    outer = step.run("outer", resuming=False, shared=step.shared)
    inner = step.run("inner", resuming=False, shared=step.shared)
    inner.run_inside(outer)
    await inner.append(0, {"n": 0})
    await inner.ended()
    assert step.shared.remembered.of("inner"), "the outer eval may run it again"
    await outer.ended()
    assert not step.shared.remembered.of("inner")


async def test_amounts_are_stored_beside_the_entries(step: Step) -> None:
    run = step.run(resuming=False)
    await run.append(0, {"n": 0})
    records = [{"run": "a", "number": n, "calls": n} for n in (1, 2)]
    for record in records:
        await run.append_spent(record)
    again = step.run()
    assert await again.load() == [FIRST]
    assert sorted(again.spent(), key=lambda record: record["number"]) == records
    other = step.run("other")
    await other.load()
    assert other.spent() == []


# -- state updates of calls ----------------------------------------------------------------


async def test_updates_of_calls_are_stored_with_the_calls_answers(step: Step) -> None:
    run = step.run(resuming=False)
    run.returned(2, updating(2))
    run.returned(1, updating(1))
    await run.append(0, answering(1))
    await run.append(1, answering(2))
    entries = await step.run().load()
    assert [[n for n, _ in entry["commands"]] for entry in entries] == [[1], [2]]
    again = step.run()
    await again.load()
    assert updates(again) == [(1, {"n": 1}), (2, {"n": 2})]


async def test_updates_of_an_entry_that_is_written_again_are_kept(step: Step) -> None:
    run = step.run(resuming=False)
    run.returned(1, updating(1))
    await run.append(0, {"n": 0})
    step.saver.fails = True
    with pytest.raises(OSError, match="disk is full"):
        await run.append(1, answering(1))
    step.saver.fails = False
    await run.append(1, answering(1))
    again = step.run()
    await again.load()
    assert updates(again) == [(1, {"n": 1})]


async def test_an_update_without_an_answer_is_not_stored_yet(step: Step) -> None:
    run = step.run(resuming=False)
    run.returned(5, updating(5))
    await run.append(0, answering(1))
    assert "commands" not in (await step.run().load())[0]


async def test_updates_of_calls_that_a_pause_left_running_reach_the_next_run(step: Step) -> None:
    database = Database(None)
    first = step.run(resuming=False)
    first.run_in(database, after_another=False)
    first.returned(1, updating(1))
    await first.append(0, answering(1))
    first.returned(2, updating(2))
    database.leave("eval", first)
    second = step.run()
    second.run_in(database, after_another=False)
    await second.load()
    first.returned(3, updating(3))
    assert updates(second) == [(n, {"n": n}) for n in (1, 2, 3)], "each of them once"


# -- the start and the end of a run --------------------------------------------------------


async def test_a_first_run_looks_for_no_earlier_one(step: Step) -> None:
    await step.run(resuming=False).append(0, {"n": 0})
    run = step.run(resuming=False)
    await run.read_earlier_runs()
    assert (run.resuming, run.needs_state) == (False, False)


@pytest.mark.parametrize("stateless", [False, True])
async def test_the_writes_of_a_step_say_how_an_earlier_run_began(
    step: Step, stateless: bool
) -> None:
    run = step.run(resuming=False)
    if stateless:
        run.begin_without_state()
    await run.append(0, {"n": 0})
    left = {"running": [{"name": "tools.slow", "input": "{}"}]}
    await run.append(1, {"notes": {"pauses": 1, "pause 1": left}})
    again = step.run()
    await again.read_earlier_runs()
    assert again.needs_state is not stateless
    assert again.left_running == "tools.slow({})"


@pytest.mark.parametrize(
    "entry",
    [
        {"notes": {"pauses": 1, "pause 1": None}},
        {"notes": 5},
        {"notes": {"pauses": 1, "pause 1": {"running": [{}]}}},
    ],
)
async def test_a_damaged_pause_ends_the_run_before_it_begins(step: Step, entry: Any) -> None:
    await step.run(resuming=False).append(0, entry)
    with pytest.raises(UnreadableJournal, match="the journal of this eval is damaged"):
        await step.run().read_earlier_runs()


async def test_damaged_state_updates_of_calls_are_refused(step: Step) -> None:
    await step.run(resuming=False).append(0, {"commands": [1]})
    with pytest.raises(UnreadableJournal, match="the journal of this eval is damaged"):
        await step.run().load()


async def test_a_first_run_that_another_process_overtook_makes_no_call(step: Step) -> None:
    run = step.run(resuming=False)
    assert await run.load() == []
    await step.run(resuming=False).append(0, {"n": "another process"})
    with pytest.raises(RuntimeError, match="another process continued this thread"):
        await run.take_answers(Notes())


@pytest.mark.parametrize(("message", "again"), [("no money", True), ("another", False)])
async def test_a_call_that_failed_and_so_ended_the_eval_is_made_again(
    step: Step, message: str, again: bool
) -> None:
    run = step.run(resuming=False)
    failed = [1, "", ["ToolError", "no money", {}]]
    await run.append(0, {**answering(), "asked": [[1, "tools.pay", "{}"]], "settled": [failed]})
    await run.left(GuestError("ToolError", message))
    entries = await step.run().load()
    assert ["retry" in entry for entry in entries] == [False, True][: 1 + again]


# -- suspended runs ------------------------------------------------------------------------


async def test_without_a_store_no_run_is_suspended(step: Step) -> None:
    run = step.run()
    assert (run.suspends, await run.suspended()) == (False, None)
    with pytest.raises(RuntimeError, match="the graph has no store"):
        await run.keep_suspended("image")


async def test_a_suspended_run_is_found_by_those_who_resume_with_its_key() -> None:
    step = Step(store=InMemoryStore(), shared=Shared(signing_key=b"key"))
    await step.run(resuming=False).keep_suspended("image")
    assert step.run().suspends
    assert await step.run().suspended() == "image"
    assert await step.run(resuming=False).suspended() is None, "it begins anew"
    assert await step.run("other").suspended() is None
    assert await step.run(shared=Shared(signing_key=b"wrong")).suspended() is None


async def test_the_end_of_an_eval_removes_its_suspended_run() -> None:
    step = Step(store=InMemoryStore())
    await step.run(resuming=False).keep_suspended("image")
    again = step.run()
    await again.suspended()
    await again.ended()
    assert await step.run().suspended() is None


def test_a_pause_waits_as_long_as_the_middleware_says(step: Step) -> None:
    assert step.run(shared=Shared(pause_grace=0.5)).pause_grace == 0.5


# -- calls that outlast a pause ------------------------------------------------------------


async def test_calls_left_running_are_logged_and_the_run_is_noted(
    step: Step, caplog: pytest.LogCaptureFixture
) -> None:
    run, database = step.run(resuming=False), Database(None)
    run.run_in(database, after_another=False)
    running: Sequence[Request] = [Request(id=7, bridge="tools.slow", wire=[{"n": 1}])]
    with caplog.at_level(logging.WARNING):
        await run.pause(Notes(), [], running)
    assert "eval eval pauses, and 1 of its calls still run: tools.slow(" in caplog.text
    assert database.left == {"eval": run}
    run.forget()
    assert database.left == {}
