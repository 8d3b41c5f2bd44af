"""One connected trace of an agent's eval, which another process resumes after a pause."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from traces import Collector, collecting

PROGRAM = Path(__file__).parents[3] / "support" / "traced_agent.py"


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """All spans of two processes."""
    folder = tmp_path_factory.mktemp("agent")
    with collecting() as collector:
        assert run(folder, collector, "start") == "paused"
        assert "100 helped paid" in run(folder, collector, "approve")
        yield collector


def run(folder: Path, collector: Collector, do: str) -> str:
    command = [sys.executable, "-W", "ignore", str(PROGRAM), str(folder), collector.url, do]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def attributes(span: Any) -> dict[str, Any]:
    found = {one.key: one.value for one in span.attributes}
    return {key: getattr(value, value.WhichOneof("value")) for key, value in found.items()}


def evals(collected: Collector) -> tuple[Any, Any]:
    first, second = sorted(
        collected.named("interpstack.eval"), key=lambda s: s.start_time_unix_nano
    )
    return first, second


def test_all_spans_are_of_one_trace_with_one_root(collected: Collector) -> None:
    assert len({span.trace_id for span in collected.spans}) == 1
    known = {span.span_id for span in collected.spans}
    roots = [span.name for span in collected.spans if span.parent_span_id not in known]
    assert roots == ["interpstack.eval"]


def test_the_resumed_run_is_linked_to_the_paused_one(collected: Collector) -> None:
    first, second = evals(collected)
    assert [link.span_id for link in second.links] == [first.span_id]
    assert (second.parent_span_id, list(first.links)) == (first.span_id, [])
    assert attributes(first)["interpstack.eval.outcome"] == "paused"
    assert attributes(second)["interpstack.eval.outcome"] == "ok"
    (pause,) = collected.named("interpstack.pause")
    assert pause.parent_span_id == first.span_id
    assert attributes(pause) == {
        "interpstack.pause.calls": 1,
        "interpstack.pause.reason": "ApprovalNeeded",
    }
    (resume,) = collected.named("interpstack.resume")
    assert resume.parent_span_id == second.span_id
    assert attributes(resume) == {
        "interpstack.eval.replayed": 101,
        "interpstack.resume.from": "record",
    }


def test_each_call_has_one_span_of_the_conventions(collected: Collector) -> None:
    first, _ = evals(collected)
    looks = collected.named("execute_tool look")
    assert len(looks) == 100
    assert {span.parent_span_id for span in looks} == {first.span_id}
    ids = {attributes(span)["gen_ai.tool.call.id"] for span in looks}
    assert len(ids) == 100
    (kid,) = collected.named("invoke_agent kid")
    found = attributes(kid)
    assert (found["gen_ai.operation.name"], found["gen_ai.agent.name"]) == ("invoke_agent", "kid")
    assert kid.parent_span_id == first.span_id
    pays = collected.named("execute_tool pay")
    assert [attributes(span)["interpstack.call.outcome"] for span in pays] == ["paused", "ok"]


def test_spans_of_tools_nest_in_those_of_their_calls(collected: Collector) -> None:
    inside = collected.named("inside look")
    calls = {span.span_id for span in collected.named("execute_tool look")}
    assert len({span.parent_span_id for span in inside}) == 100
    assert {span.parent_span_id for span in inside} == calls
    (paid,) = collected.named("inside pay")  # which runs in a thread
    assert paid.parent_span_id == collected.named("execute_tool pay")[1].span_id


def test_a_hundred_calls_are_one_batch(collected: Collector) -> None:
    polls = [attributes(span) for span in collected.named("interpstack.poll")]
    assert [poll["interpstack.poll.requests"] for poll in polls][:1] == [100]
