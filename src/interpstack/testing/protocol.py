"""What every engine must do, as a class of tests with samples in the guest's language.

```python
class TestMyEngine(EngineProtocolTests):
    def make_engine(self):
        return MyEngine()

    store = "let kept = 41"
    recall = "kept + 1"
    ...
```

Tests of a capability run when the engine declares it and are skipped, by that name, when not.
"""

# ruff: noqa: S101 - these are tests

from __future__ import annotations

import abc
import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from interpstack.bridges import Bridge, BridgeRegistry, BridgeSet
from interpstack.engine import Capability, Cell, Engine, Execution, Image, Progress, Settlement
from interpstack.errors import ConfigurationError, ImageError
from interpstack.limits import Limits
from interpstack.sessions import Session
from interpstack.stack import InterpreterStack

__all__ = ["EngineProtocolTests"]

#: Seconds after which a test that hangs is failed rather than waited for.
_PATIENCE = 30.0


class EngineProtocolTests(abc.ABC):
    """Base class for the tests of one engine; every sample must be given."""

    #: A declaration whose value `recall` needs.
    store: ClassVar[str]
    #: An expression over what `store` declared; its value shows as `42`.
    recall: ClassVar[str]
    #: Declares the same name anew, so that `recall` shows `2`.
    redeclare: ClassVar[str]
    #: Raises an error named `error_name` with the message `broken by the cell`.
    error: ClassVar[str]
    error_name: ClassVar[str]
    #: Text that is no program.
    syntax_error: ClassVar[str]
    #: Awaits `kit.echo` with the field `value` set to 42; the answer is its value.
    request: ClassVar[str]
    #: Passes `exchanged` to `kit.echo`, and the answer of that to `kit.echo` again.
    exchange: ClassVar[str]
    #: What `exchange` passes, as the host sees it.
    exchanged: ClassVar[Any] = {"n": 1, "list": [1.5, None, True, "é"], "deep": {"$": [{}]}}
    #: Calls `kit.echo` with `value` 0 to 99 at once, awaits all and shows their sum.
    parallel: ClassVar[str]
    #: Calls `kit.echo` six times, one after another, with any `value`. At the first failure it
    #: shows how many had succeeded and the error's name, as in `3 ToolError`.
    sequence: ClassVar[str]
    #: Calls `kit.note`, which is not awaited, with the field `value` set to 0, 1 and 2.
    calls: ClassVar[str]
    #: Calls `kit.echo` without awaiting the answer; shows `left`.
    unawaited: ClassVar[str]
    #: Declares `late` as an empty string and starts, without awaiting it, something that awaits
    #: `kit.echo` with `value` 1, calls it again with 2, and stores the message of the error it
    #: gets in `late`.
    after_end: ClassVar[str]
    #: Shows `late`.
    after_end_recall: ClassVar[str]
    #: Awaits what nothing settles, without a request.
    deadlock: ClassVar[str]
    #: Computes for ever.
    loop: ClassVar[str]
    #: Shows a random number.
    chance: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        missing = [name for name in EngineProtocolTests.__annotations__ if not hasattr(cls, name)]
        if missing:
            raise TypeError(f"{cls.__name__} gives no sample for: {', '.join(missing)}")

    @abc.abstractmethod
    def make_engine(self) -> Engine:
        """The engine under test, new."""

    # -- running cells ---------------------------------------------------------------------

    def test_last_expression_is_the_value_and_state_persists(self) -> None:
        with self._session() as session:
            session.eval_sync(self.store)
            outcome = session.eval_sync(self.recall)
            assert (outcome.error, outcome.text) == (None, "42")
            assert session.eval_sync(self.redeclare).ok
            assert session.eval_sync(self.recall).text == "2"

    def test_error_has_name_message_and_no_host_path(self) -> None:
        with self._session() as session:
            session.eval_sync(self.store)
            error = session.eval_sync(self.error).error
            assert error is not None
            assert (error.name, error.message) == (self.error_name, "broken by the cell")
            assert "site-packages" not in error.stack
            assert ".py" not in error.stack
            self._assert_usable(session)

    def test_syntax_error_is_an_outcome(self) -> None:
        with self._session() as session:
            session.eval_sync(self.store)
            error = session.eval_sync(self.syntax_error).error
            assert error is not None
            assert error.name == "SyntaxError"
            self._assert_usable(session)

    def test_foreign_language_is_refused(self) -> None:
        import pytest

        with self._session() as session, pytest.raises(ConfigurationError, match="klingon"):
            session.eval_sync(Cell(source=self.recall, language="klingon"))

    def test_sessions_are_isolated(self) -> None:
        with self._stack() as stack, stack.session("a") as one, stack.session("b") as other:
            one.eval_sync(self.store)
            assert not other.eval_sync(self.recall).ok
            assert one.eval_sync(self.recall).text == "42"

    # -- calls and requests ----------------------------------------------------------------

    def test_request_is_awaited_at_top_level(self) -> None:
        with self._session() as session:
            outcome = session.eval_sync(self.request)
            assert (outcome.error, outcome.text) == (None, "42")
            assert outcome.usage.requests == 1

    def test_values_cross_unchanged_both_ways(self) -> None:
        seen = []

        async def echo(value: Any) -> Any:
            seen.append(value)
            return value

        with self._session(echo) as session:
            assert session.eval_sync(self.exchange).error is None
        assert seen == [self.exchanged, self.exchanged]

    def test_parallel_requests_cost_two_crossings(self) -> None:
        execution = self._start(self.parallel)
        requests = _poll(execution).requests
        assert [request.wire for request in requests] == [{"value": n} for n in range(100)]
        assert [request.bridge for request in requests] == ["kit.echo"] * 100
        ids = [request.id for request in requests]
        assert ids == sorted(set(ids))
        answers = [Settlement(r.id, json.dumps(r.wire["value"])) for r in reversed(requests)]
        execution.settle(answers)
        completion = _poll(execution).completion
        assert completion is not None
        assert completion.text == "4950"

    def test_calls_come_in_order(self) -> None:
        seen = []

        async def note(value: int) -> None:
            seen.append(value)

        with self._session(note=note) as session:
            outcome = session.eval_sync(self.calls)
        assert (outcome.error, seen) == (None, [0, 1, 2])
        assert outcome.usage.requests == 0

    def test_failed_request_can_be_caught(self) -> None:
        async def echo(value: Any) -> Any:
            raise RuntimeError("no luck")

        with self._session(echo) as session:
            assert session.eval_sync(self.sequence).text == "0 ToolError"

    def test_answers_that_nobody_waits_for_are_ignored(self) -> None:
        execution = self._start(self.request)
        (request,) = _poll(execution).requests
        execution.settle([Settlement(request.id + 1000, "1"), Settlement(request.id, "42")])
        completion = _poll(execution).completion
        assert completion is not None
        assert completion.text == "42"
        execution.settle([Settlement(request.id, "43")])
        execution.abort("the cell has ended")
        assert not execution.abort("twice").calls

    def test_unawaited_request_finishes_before_the_answer(self) -> None:
        finished = []

        async def echo(value: Any) -> None:
            await asyncio.sleep(0.05)
            finished.append(value)

        with self._session(echo) as session:
            assert session.eval_sync(self.unawaited).text == "left"
            assert len(finished) == 1

    def test_unawaited_request_is_cancelled_where_the_stack_says_so(self) -> None:
        ends: list[str] = []
        with self._session(_hanging(ends), unawaited="cancel") as session:
            assert session.eval_sync(self.unawaited).text == "left"
            self._assert_usable(session, self.store)
        assert ends in ([], ["cancelled"])  # empty if it was cancelled before it began

    def test_request_after_the_end_is_refused_in_the_guest(self) -> None:
        seen = []

        async def echo(value: int) -> int:
            await asyncio.sleep(0.02)
            seen.append(value)
            return value

        with self._session(echo) as session:
            assert session.eval_sync(self.after_end).ok
            outcome = session.eval_sync(self.after_end_recall)
            assert "cell had ended" in outcome.text
        assert seen == [1]

    # -- limits ----------------------------------------------------------------------------

    def test_deadlock_is_told_at_once(self) -> None:
        with self._session() as session:
            session.eval_sync(self.store)
            self._assert_error(session, self.deadlock, "Deadlock", "nothing can settle")
            self._assert_usable(session)

    def test_cpu_limit_trips(self) -> None:
        self._needs(Capability.CPU_LIMIT)
        with self._session(limits=Limits(cpu_seconds=0.3)) as session:
            session.eval_sync(self.store)
            self._assert_error(session, self.loop, "Timeout", "computed for more than 0.3 s")
            self._assert_usable(session)

    def test_wall_limit_trips(self) -> None:
        ends: list[str] = []
        with self._session(_hanging(ends), limits=Limits(wall_seconds=0.3)) as session:
            session.eval_sync(self.store)
            self._assert_error(session, self.request, "Timeout", "longer than 0.3 s in all")
            self._assert_usable(session)
        assert ends == ["cancelled"]

    def test_request_budget_trips(self) -> None:
        with self._session(limits=Limits(requests=3)) as session:
            assert session.eval_sync(self.sequence).text == "3 PTCCallBudgetExceeded"
            assert session.eval_sync(self.request).text == "42"

    def test_cancellation_while_the_guest_waits(self) -> None:
        ends: list[str] = []
        asyncio.run(asyncio.wait_for(self._cancel(self.request, _hanging(ends)), _PATIENCE))
        assert ends == ["cancelled"]

    def test_cancellation_while_the_guest_computes(self) -> None:
        self._needs(Capability.CPU_LIMIT)
        asyncio.run(asyncio.wait_for(self._cancel(self.loop, _echo), _PATIENCE))

    async def _cancel(self, source: str, echo: Any) -> None:
        import pytest

        with self._stack(echo, limits=Limits(cpu_seconds=5.0)) as stack:
            session = stack.session("kit")
            await session.eval(self.store)
            running = asyncio.ensure_future(session.eval(source))
            await asyncio.sleep(0.2)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert (await session.eval(self.recall)).text == "42"

    # -- capabilities ----------------------------------------------------------------------

    def test_same_seed_gives_the_same_run(self) -> None:
        self._needs(Capability.DETERMINISM)
        with self._session() as session:
            texts = [session.eval_sync(Cell(source=self.chance, seed=s)).text for s in (7, 7, 8)]
        assert texts[0] == texts[1] != texts[2]

    def test_values_move_to_a_new_realm(self) -> None:
        self._needs(Capability.VALUES)
        engine = self.make_engine()
        first, second = (engine.open(Limits(), _bridges()) for _ in range(2))
        _finish(first.start(Cell(source=self.store)))
        values = first.values()
        assert list(values) == list(first.names())
        second.load(json.loads(json.dumps(values)))
        assert _finish(second.start(Cell(source=self.recall))) == "42"
        for realm in (first, second):
            realm.close()
            realm.close()

    def test_images_restore_the_state(self) -> None:
        self._needs(Capability.IMAGES)
        engine = self.make_engine()
        first = engine.open(Limits(), _bridges())
        _finish(first.start(Cell(source=self.store)))
        image = first.image()
        first.close()
        second = engine.open(Limits(), _bridges(), image)
        assert _finish(second.start(Cell(source=self.recall))) == "42"
        second.close()

    def test_foreign_images_are_refused(self) -> None:
        import pytest

        engine = self.make_engine()
        images = [Image("another", "base", b"data"), Image(engine.name, "no such base", b"data")]
        for image in images:
            with pytest.raises(ImageError):
                engine.open(Limits(), _bridges(), image)

    def test_suspended_cell_goes_on_in_a_new_realm(self) -> None:
        self._needs(Capability.SUSPENSION)
        engine = self.make_engine()
        first = engine.open(Limits(), _bridges())
        (request,) = _poll(first.start(Cell(source=self.request))).requests
        image = first.image()
        first.close()
        second = engine.open(Limits(), _bridges(), image)
        execution = second.resume()
        execution.settle([Settlement(request.id, "42")])
        assert _finish(execution) == "42"
        second.close()

    # -- inside ----------------------------------------------------------------------------

    def _needs(self, capability: Capability) -> None:
        import pytest

        if capability not in self.make_engine().capabilities:
            pytest.skip(f"the engine does not declare {capability.value}")

    def _stack(self, echo: Any = None, note: Any = None, **options: Any) -> InterpreterStack:
        bridges = list(_bridges(echo, note))
        return InterpreterStack(self.make_engine(), bridges=bridges, **options)

    @contextmanager
    def _session(self, echo: Any = None, note: Any = None, **options: Any) -> Iterator[Session]:
        with self._stack(echo, note, **options) as stack, stack.session("kit") as session:
            yield session

    def _start(self, source: str) -> Execution:
        return self.make_engine().open(Limits(), _bridges()).start(Cell(source=source, seed=1))

    def _assert_error(self, session: Session, source: str, name: str, message: str) -> None:
        error = session.eval_sync(source).error
        assert error is not None
        assert error.name == name
        assert message in error.message

    def _assert_usable(self, session: Session, first: str | None = None) -> None:
        if first is not None:
            session.eval_sync(first)
        outcome = session.eval_sync(self.recall)
        assert (outcome.error, outcome.text) == (None, "42")


async def _echo(value: Any) -> Any:
    return value


def _hanging(ends: list[str]) -> Any:
    async def echo(value: Any) -> None:
        try:
            await asyncio.sleep(_PATIENCE)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    return echo


def _bridges(echo: Any = None, note: Any = None) -> BridgeSet:
    registry = BridgeRegistry()
    registry.bridge(Bridge(name="kit.echo", handler=echo or _echo))
    registry.bridge(Bridge(name="kit.note", handler=note or _echo, awaited=False))
    return registry.freeze()


def _poll(execution: Execution) -> Progress:
    return execution.poll(time.time(), 5.0)


def _finish(execution: Execution) -> str:
    completion = _poll(execution).completion
    assert completion is not None
    assert completion.error is None
    execution.abort("the cell has ended")
    return completion.text
