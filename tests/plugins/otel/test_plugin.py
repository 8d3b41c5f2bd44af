"""The plugin with and without an SDK, and its settings."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from journal_stores import Waits
from traces import Traces, collecting

from interpstack import Bridge, Cell, ConfigurationError, InterpreterStack, bridge
from interpstack_otel.api import OpenTelemetry
from interpstack_otel.spans.evals import running_eval


@bridge
def echo(text: str) -> str:
    return text + str(running_eval.get())


async def test_without_an_sdk_only_the_log_is_written(caplog: pytest.LogCaptureFixture) -> None:
    stack = InterpreterStack(plugins=["otel"], bridges=[echo])

    def gate() -> None:
        raise Waits

    gates = [Bridge(name="gate", handler=gate, passes=(Waits,))]
    waiting = InterpreterStack(plugins=["otel"], bridges=gates)
    with caplog.at_level(logging.INFO, "interpstack.evals"):
        async with stack.session("s") as session:
            assert (await session.eval("await echo({text: 'a'})")).text == "aNone"
        async with waiting.session("s") as session:
            with pytest.raises(Waits):
                await session.eval("await gate({})")
    assert [one.getMessage() for one in caplog.records] == [
        "session s: an eval was stopped by Waits"
    ]
    with caplog.at_level(logging.WARNING, "interpstack.evals"):
        async with stack.session("t") as session:
            (find,) = [find for _, find in stack.each("interpstack_wrap_eval")]
            assert find(session=session, cell=Cell(source="1")) == []


async def test_an_inner_stack_without_traces_leaves_the_outer_one_alone(traces: Traces) -> None:
    @bridge
    async def inner() -> str:
        stack = InterpreterStack(plugins=[OpenTelemetry()], bridges=[echo])
        async with stack.session("inner") as session:
            return (await session.eval("await echo({text: 'b'})")).text[:1]

    async with InterpreterStack(plugins=[traces.plugin], bridges=[inner]).session() as session:
        assert (await session.eval("await inner({})")).text == "b"
    assert [span.name for span in traces.spans("execute_tool")] == ["execute_tool inner"]


async def test_inner_evals_nest_in_the_call_that_runs_them(traces: Traces) -> None:
    stack = InterpreterStack(plugins=[traces.plugin], bridges=[echo])

    @bridge
    async def inner() -> str:
        async with stack.session("inner") as session:
            return (await session.eval("await echo({text: 'b'})")).text[:1]

    outer = InterpreterStack(plugins=[traces.plugin], bridges=[inner])
    async with outer.session("outer") as session:
        await session.eval("await inner({})")
    spans = {span.name: span for span in traces.spans("execute_tool")}
    evals = {
        span.attributes["interpstack.session.key"]: span
        for span in traces.spans("interpstack.eval")
    }
    assert evals["inner"].parent.span_id == spans["execute_tool inner"].context.span_id
    assert spans["execute_tool echo"].parent.span_id == evals["inner"].context.span_id
    assert spans["execute_tool inner"].parent.span_id == evals["outer"].context.span_id


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({"payloads": True}, "payloads takes a Payloads object, or None for no payloads; got True"),
        ({"polls": 1}, "polls takes True or False; got 1"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], advice: str) -> None:
    with pytest.raises(ConfigurationError, match=advice):
        OpenTelemetry(**settings)


def test_the_plugin_needs_no_sdk() -> None:
    code = (
        "import sys; sys.modules['opentelemetry.sdk'] = None\n"
        "from interpstack import InterpreterStack\n"
        "with InterpreterStack(plugins=['otel']) as s, s.session() as one:\n"
        "    print(one.eval_sync('6 * 7').text)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "42\n"


def test_the_command_line_exports_what_its_launcher_sets_up() -> None:
    launcher = str(Path(sys.executable).parent / "opentelemetry-instrument")
    command = [launcher, "interpstack", "run", "--plugin", "otel", "-e", "6 * 7"]
    with collecting() as collector:
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(launcher).parent), os.environ["PATH"]]),
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_TRACES_EXPORTER": "otlp",
        }
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "42\n"
    assert [span.name for span in collector.spans] == ["interpstack.eval"]
