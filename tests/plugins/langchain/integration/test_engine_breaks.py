"""An engine that breaks in the middle of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from interpstack import BridgeSet, EngineFailure, Execution, Image, Limits, Progress, Settlement
from interpstack.stack import InterpreterStack

both = pytest.mark.parametrize("use_async", [True, False], ids=["async", "sync"])

QuickJS = type(InterpreterStack().engine)


class Broken(Execution):
    """Breaks in the poll after the guest asked for it."""

    def __init__(self, execution: Execution, engine: Fragile) -> None:
        self._execution = execution
        self._engine = engine

    def poll(self, now: float, cpu_seconds: float | None) -> Progress:
        if self._engine.broken:
            self._engine.broken = False
            raise EngineFailure("out of order; see the log")
        return self._execution.poll(now, cpu_seconds)

    def settle(self, settlements: Sequence[Settlement]) -> None:
        self._execution.settle(settlements)

    def abort(self, reason: str) -> Progress:
        return self._execution.abort(reason)

    def interrupt(self) -> None:
        self._execution.interrupt()


class Fragile(QuickJS):  # type: ignore[misc, valid-type]
    """QuickJS that breaks on demand."""

    broken = False
    shut = False
    stateless = False

    def open(self, limits: Limits, bridges: BridgeSet, image: Image | None = None) -> Any:
        if self.shut:
            raise EngineFailure("no more realms")
        realm = super().open(limits, bridges, image)
        start = realm.start
        realm.start = lambda cell: Broken(start(cell), self)
        image = realm.image
        realm.image = lambda: self.image_of(image)
        return realm

    def image_of(self, image: Callable[[], Image]) -> Image:
        if self.stateless:
            raise EngineFailure("too much of it")
        return image()


def fragile(talk: Any, **options: Any) -> tuple[Any, Fragile]:
    engine = Fragile()

    @tool
    def sabotage() -> str:
        """Break the engine."""
        engine.broken = True
        return "broken"

    return talk(engine=engine, ptc=[sabotage], **options), engine


@both
async def test_the_state_of_the_last_good_eval_is_kept(talk: Any) -> None:
    chat, _ = fragile(talk)
    answers = await chat.run("let a = 1", "a = 2; await tools.sabotage(); a = 3", "a")
    assert answers[1] == (
        '<error type="EngineFailure">the engine broke: out of order; see the log'
        "; variables are as they were before this call</error>"
    )
    assert answers[2] == "<result>1</result>"
    assert await chat.run("a") == ["<result>1</result>"]


@both
async def test_an_error_that_code_names_like_that_is_an_error_of_the_code(talk: Any) -> None:
    chat, _ = fragile(talk)
    answers = await chat.run(
        "let a = 1", "a = 2; throw Object.assign(Error('b; c'), {name: 'EngineFailure'})", "a"
    )
    assert answers[1].startswith('<error type="EngineFailure">b; c')
    assert "before this call" not in answers[1]
    assert answers[2] == "<result>2</result>"


@both
async def test_the_evals_before_it_in_the_same_message_are_kept(talk: Any, evals: Any) -> None:
    chat, _ = fragile(talk)
    await chat.turn("let a = 1")
    answers = await chat.run(evals("a = 5", "a = 6; await tools.sabotage()", "a"))
    assert answers[2] == "<result>5</result>"
    assert await chat.run("a") == ["<result>5</result>"]


@both
async def test_what_an_eval_did_is_reported_even_if_its_state_cannot_be_kept(talk: Any) -> None:
    """A model that does not hear of a payment pays again."""
    chat, engine = fragile(talk)
    await chat.turn("let a = 1")
    engine.stateless = True
    (answer,) = await chat.run("a = 2; console.log('paid'); 'receipt'")
    engine.stateless = False
    assert answer == (
        "<notice>Variables could not be kept: too much of it.</notice>\n"
        "<notice>Variables are as they were before this call.</notice>\n"
        "<stdout>\npaid\n</stdout>\n<result>receipt</result>"
    )
    assert await chat.run("a") == ["<result>1</result>"]


async def test_in_turn_mode_variables_are_kept_with_a_checkpointer(talk: Any) -> None:
    chat, _ = fragile(talk, mode="turn")
    answers = await chat.run("let a = 1", "await tools.sabotage()", "typeof a")
    assert "variables are as they were before this call" in answers[1]
    assert answers[2] == "<result>number</result>"
    assert await chat.run("typeof a") == ["<result>undefined</result>"]


async def test_in_turn_mode_without_a_checkpointer_the_loss_is_reported(talk: Any) -> None:
    chat, _ = fragile(talk, mode="turn", checkpointer=None)
    answers = await chat.run("let a = 1", "await tools.sabotage()", "typeof a")
    assert "all variables of earlier cells are lost" in answers[1]
    assert answers[2] == "<result>undefined</result>"


async def test_an_engine_that_does_not_start_is_an_answer(talk: Any) -> None:
    saver = InMemorySaver()
    await talk(checkpointer=saver).turn("let a = 1")
    chat, engine = fragile(talk, checkpointer=saver)
    engine.shut = True
    (answer,) = await chat.run("a")
    assert '<error type="EngineFailure">' in answer
    engine.shut = False
    again, _ = fragile(talk, checkpointer=saver)
    assert await again.run("a") == ["<result>1</result>"]
