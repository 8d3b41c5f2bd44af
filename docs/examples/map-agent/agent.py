"""An agent that has 3 MB of text read by 100 subagents, a few at once, within a budget.

`python agent.py` uses scripted models, without a network; `python agent.py PROVIDER:NAME` a real
one. `--tokens N` sets the budget.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from langchain.chat_models import init_chat_model
from langchain_core.callbacks import BaseCallbackHandler
from make_data import make_data
from scripted_model import ScriptedModel, ScriptedReader

from interpstack_accounts.api import Budget
from interpstack_langchain import CodeInterpreterMiddleware

FOLDER = Path("desk")
QUESTION = (
    "The file tickets.txt holds 6,000 tickets of our help desk. How many complain of delivery, "
    "defects, billing and accounts, and which report smoke or fire? Have subagents of the type "
    "`reader` read it in 100 parts."
)


def make_agent(model: Any, reader: Any, tokens: int) -> Any:
    return create_deep_agent(
        model,
        subagents=[
            {
                "name": "reader",
                "description": "Reads tickets and counts what they are about.",
                "system_prompt": "Read every ticket of the text. Report exact counts.",
                "model": reader,
                "tools": [],
            }
        ],
        backend=FilesystemBackend(FOLDER, virtual_mode=True),
        middleware=[
            CodeInterpreterMiddleware(max_subagent_concurrency=8, budget=Budget(tokens=tokens))
        ],
    )


@attrs.define
class Subagents:
    """Follows the subagents: how many run at once, and how they end."""

    running: int = 0
    most: int = 0
    ends: Counter[str] = attrs.field(factory=Counter)

    def note(self, event: dict[str, Any]) -> None:
        if event["type"] != "subagent":
            return
        if event["phase"] == "start":
            self.running += 1
            self.most = max(self.most, self.running)
            return
        self.running -= 1
        self.ends[event["phase"]] += 1
        if event["phase"] == "complete" and self.ends["complete"] % 10 == 0:
            print(f"{self.ends['complete']} subagents have answered", flush=True)


class ReadByModels(BaseCallbackHandler):
    """Counts the calls of each agent's model, and the characters of the messages that it reads."""

    run_inline = True

    def __init__(self) -> None:
        self.calls, self.chars = Counter[str](), Counter[str]()
        self._begun: dict[Any, tuple[str, int]] = {}

    def on_chat_model_start(
        self, serialized: Any, messages: list[Any], *, run_id: Any, **kwargs: Any
    ) -> None:
        name = kwargs["metadata"]["lc_agent_name"] or "main"
        code = [str(getattr(message, "tool_calls", "")) for message in messages[0]]
        chars = sum(len(message.text) for message in messages[0]) + len("".join(code))
        self._begun[run_id] = name, chars

    def on_llm_end(self, response: Any, *, run_id: Any, **kwargs: Any) -> None:
        name, chars = self._begun.pop(run_id)  # a call that the budget refuses has no end
        self.calls[name] += 1
        self.chars[name] += chars


async def main() -> None:
    usage = argparse.ArgumentParser(description="Have 100 subagents read 3 MB of text.")
    usage.add_argument("model", nargs="?", help="as in provider:name; by default, scripted models")
    usage.add_argument("--tokens", type=int, default=1_500_000, help="what all models may use")
    options = usage.parse_args()
    make_data(FOLDER)
    model = init_chat_model(options.model) if options.model else ScriptedModel()
    agent = make_agent(model, model if options.model else ScriptedReader(), options.tokens)

    read, subagents, state = ReadByModels(), Subagents(), {}
    question: Any = {"messages": [("user", QUESTION)]}
    config: Any = {"callbacks": [read]}
    async for kind, data in agent.astream(question, config, stream_mode=["custom", "values"]):
        if kind == "custom":
            subagents.note(data)
        else:
            state = data

    print(f"\n{state['messages'][-1].text}\n")
    calls, chars, ends = read.calls, read.chars, subagents.ends
    print(f"The agent's model took {calls['main']} turns and read {chars['main']:,} characters.")
    print(f"{ends['complete']} subagents answered, {ends['error']} were stopped or refused.")
    print(f"At most {subagents.most} ran at once.")
    print(f"Their model read {chars['reader']:,} characters.")


if __name__ == "__main__":
    asyncio.run(main())
