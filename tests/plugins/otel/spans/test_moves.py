"""Spans and measurements of sessions that hibernate and wake."""

from __future__ import annotations

from traces import Traces

from interpstack import InterpreterStack, SessionState


async def test_a_session_that_another_one_sends_to_sleep_has_a_span_there(traces: Traces) -> None:
    tracer = traces.tracers.get_tracer("test")
    async with InterpreterStack(plugins=[traces.plugin], max_live_sessions=1) as stack:
        await stack.session("a").eval("let a = 1")
        with tracer.start_as_current_span("turn") as turn:
            await stack.session("b").eval("1")
    (sleep,) = (one for one in traces.spans("interpstack.sleep") if one.parent)
    assert sleep.parent == turn.get_span_context()
    attributes = dict(sleep.attributes or {})
    assert attributes.pop("interpstack.session.image_bytes") > 0  # type: ignore[operator]
    assert attributes == {"interpstack.engine.name": "quickjs", "interpstack.session.key": "a"}
    assert sleep.start_time < sleep.end_time  # type: ignore[operator]


async def test_a_question_wakes_a_session_outside_of_evals(traces: Traces) -> None:
    async with InterpreterStack(plugins=[traces.plugin]) as stack:
        session = stack.session("a")
        await session.eval("let a = 1")
        await session.hibernate()
        assert list(await session.names()) == ["a"]
    assert traces.one("interpstack.wake").parent is None
    engine = {"interpstack.engine.name": "quickjs"}
    assert traces.points("interpstack.session.wakes") == [(engine, 1)]
    assert traces.points("interpstack.session.move_time") == [
        ({**engine, "interpstack.session.move": "sleep"}, 1),
        ({**engine, "interpstack.session.move": "wake"}, 1),
    ]


async def test_a_state_of_values_has_no_image(traces: Traces) -> None:
    async with InterpreterStack(plugins=[traces.plugin]) as stack:
        await stack.session("a").restore_state(SessionState(values={"a": 1}))
    attributes = traces.one("interpstack.wake").attributes or {}
    assert attributes["interpstack.session.image_bytes"] == 0
