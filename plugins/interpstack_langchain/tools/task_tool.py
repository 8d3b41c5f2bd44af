"""Calls of the agent's `task` tool, which dispatches subagents.

Code adds a schema of the answer to the tool's own fields, as `response_schema`. It is part of the
call that rules, people and the journal see, and reaches the subagent by the configuration.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import attrs
from langchain_core.tools import BaseTool

from interpstack import GuestException
from interpstack_langchain.langgraph_internals.async_only import only_async, subagents_of
from interpstack_langchain.tools.tool_schemas import visible_fields
from interpstack_langchain.tools.wrapped_tools import without_blocking_form
from interpstack_subagents.api import check_schema

__all__ = ["RESPONSE_SCHEMA", "TASK", "TaskCall", "is_task", "parsed_answer", "without_schema"]

#: The field of a call that the tool itself lacks.
RESPONSE_SCHEMA: Final = "response_schema"
TASK: Final = "task"
#: Fields of a `task` tool that dispatches subagents; another tool of that name has others.
_FIELDS: Final = frozenset({"description", "subagent_type"})


def is_task(tool: BaseTool) -> bool:
    """Whether a tool dispatches subagents, and not only has the same name."""
    return tool.name == TASK and set(visible_fields(tool)) >= _FIELDS


def without_schema(
    tool: BaseTool, given: Mapping[Any, Any]
) -> tuple[dict[Any, Any], Mapping[str, Any] | None]:
    """The fields of a call that the tool itself has, and the schema of the answer.

    Raises:
        GuestException: The schema is unfit; the message names why.
    """
    own = dict(given)
    if RESPONSE_SCHEMA not in own or not is_task(tool) or RESPONSE_SCHEMA in visible_fields(tool):
        return own, None
    schema = own.pop(RESPONSE_SCHEMA)
    return own, None if schema is None else check_schema(schema, RESPONSE_SCHEMA)


def parsed_answer(text: Any, author: str) -> Any:
    """The value of an answer to a call with a schema.

    Raises:
        GuestException: It is not JSON.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise GuestException(f"{author}'s answer is not JSON", tool=TASK) from error


@attrs.frozen(eq=False, repr=False)
class TaskCall:
    """A call of the tool `task`.

    Attributes:
        tool: The tool, in the form in which it can run.
        given: The tool's own fields.
        configurable: Added to the call's runnable configuration.
    """

    tool: BaseTool
    given: dict[str, Any]
    configurable: Mapping[str, Any]
    _refuses_in_text: bool = False
    _schema: Mapping[str, Any] | None = None

    @classmethod
    def of(cls, tool: BaseTool, given: dict[str, Any]) -> TaskCall:
        """The call of a tool of that name, which may be another one."""
        if not is_task(tool):
            return cls(tool, given, {})
        own, schema = without_schema(tool, given)
        subagents = subagents_of(tool)
        if only_async(subagents.get(own.get("subagent_type", ""))):
            tool = without_blocking_form(tool)
        return cls(tool, own, _configurable(schema), bool(subagents), schema)

    def value(self, returned: Any, answer: Any) -> Any:
        """The value for the guest.

        Args:
            returned: What the tool returned.
            answer: The answer as the guest would get it without a schema.

        Raises:
            GuestException: The tool refused the call, or the answer is not JSON.
        """
        if self._refuses_in_text and isinstance(returned, str):
            # deepagents' tool reports unknown types as plain text; its answers are commands.
            raise GuestException(returned, tool=TASK)
        return answer if self._schema is None else parsed_answer(answer, "the subagent")


def _configurable(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if schema is None:
        return {}
    # long loaded: the `task` tool that reads the key is of this module
    from deepagents.middleware.subagents import SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY

    return {SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY: dict(schema)}
