"""Commands of scripts are begun on record, and never run twice by themselves."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflow_runs import MemoryRuns, Prompts, runner, script, until

from interpstack_commands import ExecSpec, LocalSandbox
from interpstack_workflows.api import WorkflowRunner

_CALL = "exec('local/a', {command: 'ls'})"

#: A process that runs the workflow, whose command notes that it began, and goes on.
_HOST = """
import asyncio, sys
from pathlib import Path
from interpstack_commands import LocalSandbox
from interpstack_workflows.api import WorkflowRunner

async def main(folder, source):
    sandbox = LocalSandbox(folder, commands=[sys.executable], seconds=300)
    async with WorkflowRunner(store=f"{folder}/runs.db", sandboxes={"local/a": sandbox},
                              lease_seconds=1.0) as runner:
        await runner.run(source, sys.executable, run_id="run_killed")

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""
#: Appends its process id to a file; then it never ends while there is no file `go`.
_COMMAND = (
    "import os, pathlib, time\n"
    "f = open('begun', 'a'); f.write(f'{os.getpid()}\\n'); f.close()\n"
    "while not pathlib.Path('go').exists(): time.sleep(0.01)\n"
    "print('done')"
)


async def _answered(answer: Any, body: str = f"return {_CALL}", **options: Any) -> Any:
    async def sandbox(spec: ExecSpec) -> Any:
        return answer

    async with runner(Prompts(), sandboxes={"local/a": sandbox}, **options) as one:
        return await one.run(script(body))


async def test_output_is_checked_and_bounded() -> None:
    cut = await _answered({"exitCode": 1, "stdout": b"12345", "stderr": "1"}, output_bytes=4)
    output = {"exitCode": 1, "stdout": "1234", "stderr": "1", "truncated": ["stdout"]}
    assert cut.result == output
    wrong = await _answered({"exitCode": None})
    assert wrong.error is not None
    assert wrong.error["message"] == (
        "the sandbox 'local/a' has to return an integer as exitCode; it returned None"
    )


async def test_the_beginning_is_stored_before_the_command_begins() -> None:
    store = MemoryRuns()
    seen: list[bool] = []

    async def sandbox(spec: ExecSpec) -> Mapping[str, Any]:
        entries = await store.entries("run_a")
        seen.extend(step.started for entry in entries for step in entry.settled)
        return {"exitCode": 0}

    async with runner(Prompts(), store, sandboxes={"local/a": sandbox}) as one:
        await one.run(script(f"return {_CALL}"), run_id="run_a")
    assert seen == [True]


class _Hanging:
    """A sandbox whose first command never ends."""

    def __init__(self) -> None:
        self.begun = 0

    async def __call__(self, spec: ExecSpec) -> Mapping[str, Any]:
        self.begun += 1
        if self.begun == 1:
            await asyncio.Event().wait()
        return {"exitCode": 0, "stdout": str(self.begun)}


async def _left(store: MemoryRuns, sandbox: _Hanging, body: str) -> None:
    """Leave a run while its command runs."""
    async with runner(Prompts(), store, sandboxes={"local/a": sandbox}) as one:
        await one.start(script(body), run_id="run_a")
        await until(lambda: sandbox.begun == 1)


async def test_an_interrupted_command_is_not_repeated_until_somebody_says_so() -> None:
    store, sandbox = MemoryRuns(), _Hanging()
    await _left(store, sandbox, f"return parallel([() => {_CALL}])")
    async with runner(Prompts(), store, sandboxes={"local/a": sandbox}) as one:
        # Whoever retries failed steps has not seen yet that this one is interrupted.
        failed = await (await one.resume("run_a", retry_failed=True)).result()
        assert failed.status == "failed"
        assert failed.error is not None
        assert failed.error["name"] == "ExecInterrupted"
        assert "it is unknown whether it ended" in failed.error["message"]
        same = await (await one.resume("run_a")).result()
        assert (same.status, sandbox.begun) == ("failed", 1)
        again = await (await one.resume("run_a", retry_failed=True)).result()
        assert (again.status, sandbox.begun) == ("completed", 2)
        assert again.result == [{"exitCode": 0, "stdout": "2", "stderr": ""}]


async def test_a_script_may_catch_the_interruption() -> None:
    store, sandbox = MemoryRuns(), _Hanging()
    body = f"return {_CALL}.catch(e => [e.name, e.profile, e.startedAt > 0])"
    await _left(store, sandbox, body)
    async with runner(Prompts(), store, sandboxes={"local/a": sandbox}) as one:
        result = await (await one.resume("run_a")).result()
    assert result.result == ["ExecInterrupted", "local/a", True]
    assert sandbox.begun == 1


async def test_a_second_attempt_that_is_interrupted_is_known_as_well() -> None:
    store, tries = MemoryRuns(), list[str]()

    async def sandbox(spec: ExecSpec) -> Mapping[str, Any]:
        tries.append(spec.command)
        if len(tries) == 1:
            raise OSError("no room")
        await asyncio.Event().wait()
        raise AssertionError

    async with runner(Prompts(), store, sandboxes={"local/a": sandbox}) as one:
        failed = await one.run(script(f"return {_CALL}"), run_id="run_a")
        assert failed.error is not None
        assert failed.error["name"] == "OSError"
        await one.resume("run_a", retry_failed=True)
        await until(lambda: len(tries) == 2)
    async with runner(Prompts(), store, sandboxes={"local/a": sandbox}) as one:
        result = await (await one.resume("run_a")).result()
    assert result.error is not None
    assert result.error["name"] == "ExecInterrupted"
    assert len(tries) == 2


async def test_a_killed_host_does_not_repeat_its_command(tmp_path: Path) -> None:
    source = script(f"return exec('local/a', {{command: args, args: ['-c', {_COMMAND!r}]}})")
    host = subprocess.Popen(  # noqa: ASYNC220 - it is to be killed by its group
        [sys.executable, "-c", _HOST, str(tmp_path), source], start_new_session=True
    )
    begun = tmp_path / "begun"
    try:
        await until(lambda: begun.exists() and begun.read_text().endswith("\n"))
    finally:
        os.killpg(host.pid, signal.SIGKILL)
        host.wait()
    sandbox = LocalSandbox(tmp_path, commands=[sys.executable])
    store = f"{tmp_path}/runs.db"
    async with WorkflowRunner(store=store, sandboxes={"local/a": sandbox}) as one:
        failed = await (await one.resume("run_killed")).result()
        assert failed.error is not None
        assert failed.error["name"] == "ExecInterrupted"
        assert len(begun.read_text().splitlines()) == 1
        (tmp_path / "go").touch()
        again = await (await one.resume("run_killed", retry_failed=True)).result()
    assert again.result == {"exitCode": 0, "stdout": "done\n", "stderr": ""}
    assert len(begun.read_text().splitlines()) == 2
