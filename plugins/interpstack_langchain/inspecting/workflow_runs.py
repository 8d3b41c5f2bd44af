"""Runs of workflows in the database of a checkpointer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from interpstack import call_blocking
from interpstack_inspect.api import AnswerRefused, NotRecorded, Question
from interpstack_langchain.inspecting.questions import run_questions_of
from interpstack_langchain.replay.serializers import reading
from interpstack_state import MemoryStore, SqlStore
from interpstack_workflows.api import (
    RunTree,
    WorkflowError,
    WorkflowRecord,
    WorkflowRunner,
    WorkflowStore,
    run_questions,
)

__all__ = ["opened_runs", "read_questions", "read_run", "store_answer"]


@asynccontextmanager
async def opened_runs(state: SqlStore | None) -> AsyncIterator[WorkflowStore]:
    """The runs in a database, which is closed afterwards; none where there are no such tables.

    Args:
        state: The states of the database; `None` if it is not known.
    """
    there = state is not None and await call_blocking(state.exists)
    store = WorkflowStore(state if there and state is not None else MemoryStore())
    try:
        yield store
    finally:
        await store.aclose()


async def read_run(store: WorkflowStore, run_id: str) -> tuple[WorkflowRecord, RunTree]:
    """A run of a workflow with its steps.

    Raises:
        NotRecorded: There is none of this id.
    """
    run = await _run(store, run_id)
    with reading(f"run {run_id!r:.200}"):
        return run, RunTree.of(run, await store.entries(run_id))


async def store_answer(
    store: WorkflowStore, run_id: str, asked: tuple[str, str], value: Any
) -> None:
    """Store the answer to a question of a run.

    Args:
        store: The store of the run.
        run_id: The id of the run.
        asked: The id and the digest of the question that was shown.
        value: The answer.

    Raises:
        AnswerRefused: The question is no longer open, or takes no such answer.
        NotRecorded: There is no such run.
    """
    if asked not in [(one.id, one.digest) for one in await read_questions(store, run_id)]:
        raise AnswerRefused(
            "This question is no longer open, or it was asked again: another answer came first. "
            "Nothing was done; look at the run again."
        )
    try:
        async with WorkflowRunner(store=store) as runner:
            await runner.answer(run_id, asked[0], value)
    except WorkflowError as error:
        raise AnswerRefused(str(error)) from error


async def read_questions(store: WorkflowStore, run_id: str) -> Sequence[Question]:
    """The open questions of a run that have no answer yet.

    Raises:
        NotRecorded: There is none of this id.
    """
    run = await _run(store, run_id)
    with reading(f"run {run_id!r:.200}"):
        found = await run_questions(store, run)
        return run_questions_of(one for one in found if not one.get("answered"))


async def _run(store: WorkflowStore, run_id: str) -> WorkflowRecord:
    run = await store.read(run_id)
    if run is None:
        raise NotRecorded(f"there is no run {run_id!r:.200}; it may have been deleted")
    return run
