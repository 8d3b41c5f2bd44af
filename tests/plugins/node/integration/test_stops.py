"""Stops that come at an awkward moment: they end their own cell at most."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
from kernels import kernel_config

from interpstack import InterpreterStack
from interpstack_javascript.node_runtime import find_node
from interpstack_node import execution
from interpstack_node.engine import NodeEngine
from interpstack_node.kernels.process import KernelProcess
from interpstack_node.kernels.programs import guest_programs
from interpstack_node.kernels.waiting import KernelWait
from interpstack_node.modules.questions import ModuleQuestions


def _kernel() -> KernelProcess:
    programs = guest_programs((), memory_bytes=None, cwd=None, network=False)
    kernel = KernelProcess(kernel_config(find_node().path, programs=programs))
    kernel.start()
    return kernel


def test_a_signal_that_comes_after_its_command_stops_no_other_one() -> None:
    kernel = _kernel()
    for _ in range(50):
        kernel.stops.sent += 1  # as if a command had run when this was decided
        kernel.signal(signal.SIGINT)
        answer = kernel.ask("say", '["names"]', seconds=60)
        assert (answer.stopped, answer.signals_seen) == (False, kernel.stops.sent)
    kernel.close()


def test_a_signal_before_the_first_step_of_a_command_stops_it() -> None:
    kernel = _kernel()
    kernel.signal(signal.SIGINT)
    for _ in range(1000):  # the thread of Node that takes the signal may be late
        if kernel.ask("say", '["names"]', seconds=60).stopped:
            break
    else:
        pytest.fail("the signal was lost")
    assert not kernel.ask("say", '["names"]', seconds=60).stopped
    kernel.close()


async def test_a_stop_while_the_host_looks_for_a_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.mjs").write_text("export default 1", "utf-8")
    original, slow = ModuleQuestions.answer, [True]

    def answer(
        self: ModuleQuestions, question: Sequence[str]
    ) -> Generator[KernelWait | None, None, str]:
        while slow:
            yield None
        return (yield from original(self, question))

    monkeypatch.setattr(ModuleQuestions, "answer", answer)
    monkeypatch.setattr(execution, "_WIND_DOWN_SECONDS", 30.0)  # a busy machine takes its time
    with InterpreterStack(NodeEngine(working_dir=tmp_path)) as stack, stack.session() as session:
        await session.eval("const kept = () => 1")
        running = asyncio.ensure_future(session.eval("await import('./a.mjs')"))
        await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.sleep(0.05)
        slow.clear()
        with pytest.raises(asyncio.CancelledError):
            await running
        outcome = await session.eval("(await import('./a.mjs')).default + kept()")
        assert outcome.text == "2", outcome.error
