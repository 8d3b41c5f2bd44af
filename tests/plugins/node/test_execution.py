"""What an execution takes from a kernel that is not trusted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kernels import Fake

from interpstack import BridgeRegistry, Cell, Execution, Limits, Progress
from interpstack_node.engine import NodeEngine
from interpstack_node.kernels.process import KernelProcess

DRAINED: dict[str, Any] = {
    "calls": [],
    "requests": [],
    "cancelled": [],
    "rejected": [],
    "importing": 0,
    "idle": True,
    "completion": None,
}
#: Says yes to the set-up, and then what each test has it say.
BODY = """
end = lambda **more: send("Z", b'{"stopped":false,"seen":0,"heap":1,"external":1}')
send("Z")
receive(); end()
receive()
BODY
end()
receive()
"""


def _polled(monkeypatch: pytest.MonkeyPatch, node: str) -> Progress:
    from interpstack_javascript import node_runtime as runtime

    monkeypatch.setattr(runtime, "_checked_version", lambda path: (24, 0, 0))
    engine = NodeEngine(node_path=node, prestarted=0, grace_seconds=0.3, message_bytes=2**20)
    realm = engine.open(Limits(), BridgeRegistry().freeze())
    try:
        return realm.start(Cell(source="1", seed=1)).poll(0.0, 5.0)
    finally:
        realm.close()
        engine.close()


def _saying(fake_node: Fake, *texts: str) -> str:
    said = "; ".join(f"send('D', {text.encode()!r})" for text in texts)
    return fake_node(BODY.replace("BODY", said or "pass"))


def test_a_sound_answer_is_taken(monkeypatch: pytest.MonkeyPatch, fake_node: Fake) -> None:
    requests = [[1, "tools.a", {"x": 1}]]
    node = _saying(fake_node, json.dumps({**DRAINED, "requests": requests}))
    progress = _polled(monkeypatch, node)
    assert [one.bridge for one in progress.requests] == ["tools.a"]
    assert progress.failure is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps({**DRAINED, "calls": [[1, 2]]}),
        json.dumps({**DRAINED, "requests": [["1", "tools.a", {}]]}),
        json.dumps({**DRAINED, "requests": [[True, "tools.a", {}]]}),
        json.dumps({**DRAINED, "requests": {}}),
        json.dumps({**DRAINED, "cancelled": [-1]}),
        json.dumps({**DRAINED, "importing": "1"}),
        json.dumps({**DRAINED, "completion": {"text": 1}}),
        json.dumps({**DRAINED, "completion": {"error": {"name": "E"}}}),
    ],
)
def test_an_answer_in_another_form_ends_the_cell(
    monkeypatch: pytest.MonkeyPatch, fake_node: Fake, text: str
) -> None:
    progress = _polled(monkeypatch, _saying(fake_node, text))
    assert progress.failure is not None
    assert progress.failure.name == "EngineFailure"
    assert "the guest's memory is damaged" in progress.failure.message
    assert progress.state == "undone"
    assert progress.requests == ()


def test_two_answers_end_the_cell(monkeypatch: pytest.MonkeyPatch, fake_node: Fake) -> None:
    text = json.dumps(DRAINED)
    progress = _polled(monkeypatch, _saying(fake_node, text, text))
    assert progress.failure is not None
    assert "the kernel answers twice" in progress.failure.message


async def test_a_cell_that_is_interrupted_while_its_kernel_starts_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = NodeEngine(prestarted=0)
    realm = engine.open(Limits(), BridgeRegistry().freeze())
    attach = realm.attach
    try:
        for polled in (_poll, _apoll):
            execution = realm.start(Cell(source="globalThis.done = true", seed=1))

            def interrupted(execution: Execution = execution) -> KernelProcess:
                execution.interrupt()
                return attach()

            monkeypatch.setattr(realm, "attach", interrupted)
            assert (await polled(execution)).exhausted
            monkeypatch.undo()
            assert execution.abort("late").failure is None
            found = realm.start(Cell(source="typeof done", seed=1)).poll(0.0, 5.0).completion
            assert found is not None
            assert found.text == "undefined"
    finally:
        realm.close()
        engine.close()


async def _poll(execution: Execution) -> Progress:
    return execution.poll(0.0, 5.0)


async def _apoll(execution: Execution) -> Progress:
    return await execution.apoll(0.0, 5.0)
