"""The user tasks of AgentDojo: an office, a bank, a chat and a travel agency, without attacks."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import attrs
from agentdojo.default_suites.v1.tools import cloud_drive_client, email_client
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite import get_suites
from benefit_tasks import Call, Task, ToolForm, Turn
from pydantic_core import to_jsonable_python

__all__ = ["VERSION", "agentdojo_tasks"]

#: The version of the benchmark, as the package names it.
VERSION: Final = "v1.2.2"


class _Clock(dt.datetime):
    """The time of tools that stamp e-mails and files, which would differ from world to world."""

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
        return dt.datetime(2024, 5, 15, 12, tzinfo=tz)


_MODULE_DATETIME: Final = SimpleNamespace(datetime=_Clock, timedelta=dt.timedelta)


@cache
def _environment(suite: str) -> Any:
    """Read the environment of a suite; it takes a second, and every world is a copy of it."""
    return get_suites(VERSION)[suite].load_and_inject_default_environment({})


@attrs.define
class _DojoWorld:
    suite: Any
    task: Any
    environment: Any = attrs.field(init=False)
    runtime: FunctionsRuntime = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        fresh = _environment(self.suite.name).model_copy(deep=True)
        self.environment = self.task.init_environment(fresh)
        self.runtime = FunctionsRuntime(self.suite.tools)

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        with (
            mock.patch.object(email_client, "datetime", _MODULE_DATETIME),
            mock.patch.object(cloud_drive_client, "datetime", _MODULE_DATETIME),
        ):
            result, _ = self.runtime.run_function(
                self.environment, tool, dict(arguments), raise_on_error=True
            )
        return to_jsonable_python(result)

    def state(self) -> Any:
        return self.environment.model_dump()


def agentdojo_tasks() -> list[Task]:
    """Read all user tasks from the installed package."""
    return [
        _read(suite, name, task)
        for suite in get_suites(VERSION).values()
        for name, task in suite.user_tasks.items()
    ]


def _read(suite: Any, name: str, task: Any) -> Task:
    calls = [
        Call(one.function, json.loads(json.dumps(one.args)))
        for one in task.ground_truth(_DojoWorld(suite, task).environment)
    ]
    forms = [
        ToolForm(tool.name, tool.description, tool.parameters.model_json_schema())
        for tool in suite.tools
    ]

    def check(world: Any, made: Sequence[Call]) -> None:
        before = _DojoWorld(suite, task).environment
        traces = [FunctionCall(function=one.tool, args=dict(one.arguments)) for one in made]
        judged = (task.GROUND_TRUTH_OUTPUT, before, world.environment)
        solved = task.utility_from_traces(*judged, traces)
        assert task.utility(*judged) if solved is None else solved, f"{name} was not solved"

    turn = Turn(task.PROMPT, calls, task.GROUND_TRUTH_OUTPUT or "Done.")
    return Task(f"{suite.name} {name}", forms, [turn], lambda: _DojoWorld(suite, task), check)
