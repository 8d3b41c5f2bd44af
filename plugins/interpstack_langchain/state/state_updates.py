"""State updates that leave an eval: its own, and the updates of tools that its code called."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import Command, Send

from interpstack_langchain.evals.eval_call import EvalCall
from interpstack_langchain.langgraph_internals.task_writes import Reducer, pairs

__all__ = ["commit", "joined_updates"]


def commit(
    message: ToolMessage,
    own: Mapping[str, Any],
    running: EvalCall,
    commands: Sequence[tuple[int, Command[Any]]] | None = None,
) -> ToolMessage:
    """Have the updates of an eval applied in the step of its message.

    An inner eval passes its updates to the eval whose code called it, and that eval records them.
    `EvalCall.leaving` holds only commands for another graph, which no write of this task can
    express.

    Args:
        message: The eval's answer.
        own: The eval's own update.
        running: The eval, with the commands of its tools, in the order in which the tools ended.
        commands: Commands to apply in place of all of them.

    Returns:
        The answer to leave with; it has an id if more messages follow it.
    """
    writes = running.writes
    given = running.commands if commands is None else commands
    reduce = writes.reducers() if writes is not None and given else {}
    mine = [command for _, command in given if command.graph is None]
    others = [command for _, command in given if command.graph is not None]
    update = joined_updates(mine, own, reduce)
    goto = [target for command in mine for target in _targets(command)]
    if running.inside is not None:
        running.inside.pass_on([Command(update=update, goto=tuple(goto)), *others])
        return message
    running.leave_beside(others)
    if writes is None:
        return message
    added = update.pop("messages", [])
    if added and _replaces(reduce.get("messages"), message):
        # They have to stand behind the answer, which the tool node writes later: under the id that
        # it has here, so in this place.
        answer_id = message.id or f"eval-{secrets.token_hex(8)}"
        message = message.model_copy(update={"id": answer_id})
        update["messages"] = [message, *added]
    elif added:
        running.leave_beside([Command(update={"messages": added})])
    writes.write(Command(update=update, goto=tuple(goto)))
    return message


def joined_updates(
    commands: Iterable[Command[Any]], own: Mapping[str, Any], reduce: Mapping[str, Reducer]
) -> dict[str, Any]:
    """One update with the effect of several, as a task may write a key only once.

    If two updates write the same key, its reducer joins them, as it would in the state; without a
    reducer the later one wins.

    Args:
        commands: For the running graph, in order.
        own: The last of all updates.
        reduce: Reducers of the graph's channels, by key.
    """
    update: dict[str, Any] = {}
    for command in commands:
        for key, value in pairs(command.update):
            if key == "messages":
                added = value if isinstance(value, list) else [value]
                update[key] = [*update.get(key, []), *added]
            elif key in update and key in reduce:
                update[key] = reduce[key](update[key], value)
            else:
                update[key] = value
    return {**update, **own}


def _targets(command: Command[Any]) -> list[Any]:
    return [command.goto] if isinstance(command.goto, (str, Send)) else list(command.goto)


def _replaces(reduce: Reducer | None, message: ToolMessage) -> bool:
    """Whether a message that is written again takes the place of the one with its id."""
    probe = message.model_copy(update={"id": "probe"})
    return reduce is not None and len(reduce([probe], [probe])) == 1
