"""The agents of the workflow: a librarian, readers and a writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from interpstack import call_blocking
from interpstack_demo.files import folder_tools, survey
from interpstack_demo.streams import is_call, messages_of
from interpstack_demo.tally import Tally
from interpstack_langchain import CodeInterpreterMiddleware
from interpstack_workflows.api import Agent, AgentAnswer, AgentCall, AgentFailed, WorkflowUsage

__all__ = ["Librarian", "Reader", "Writer"]


class Librarian(Agent):
    """Lists the text files of a folder.

    Args:
        folder: The folder.
        tally: Notes the files that are left out.
    """

    description = "lists the text files of the folder, as paths"

    def __init__(self, folder: Path, tally: Tally) -> None:
        self._folder = folder
        self._tally = tally

    async def run(self, call: AgentCall) -> AgentAnswer:
        listed, left_out = await call_blocking(lambda: survey(self._folder))
        self._tally.leave_out(left_out)
        return AgentAnswer([one["path"] for one in listed])


class Reader(Agent):
    """A LangChain agent that reads files of a folder by code.

    Args:
        folder: Whose files its code may read.
        model: Writes the code.
        tally: Counts turns, evals and calls.
    """

    description = "reads files of the folder by code, and answers questions about them"

    def __init__(self, folder: Path, model: BaseChatModel, tally: Tally) -> None:
        tools = [one for one in folder_tools(folder, tally) if one.name == "read_text"]
        interpreter = CodeInterpreterMiddleware(
            ptc=[tool.name for tool in tools], max_result_chars=50_000, timeout=30.0
        )
        self._graph: Any = create_agent(model, tools=tools, middleware=[interpreter])
        self._tally = tally

    async def run(self, call: AgentCall) -> AgentAnswer:
        answer, usage = "", WorkflowUsage()
        asked: Any = {"messages": [{"role": "user", "content": call.prompt}]}
        try:
            async for kind, data in self._graph.astream(asked, stream_mode=["custom", "updates"]):
                if kind == "custom" and is_call(data):
                    self._tally.add_call()
                    call.emit({"tool": data["tool"]})
                for message in messages_of(data) if kind == "updates" else ():
                    self._note(message)
                    if isinstance(message, AIMessage):
                        answer, usage = message.text, usage + _usage(message)
        except Exception as error:
            raise AgentFailed(str(error), usage) from error
        return AgentAnswer(answer, usage)

    def _note(self, message: BaseMessage) -> None:
        if isinstance(message, AIMessage):
            self._tally.add_turn("")
            for _ in message.tool_calls:
                self._tally.add_eval()
        elif message.type == "tool":
            self._tally.add_result(message.text)


class Writer(Agent):
    """A chat model that writes.

    Args:
        model: The model.
        tally: Counts its turns; its text is the answer of the demo.
    """

    description = "writes texts"

    def __init__(self, model: BaseChatModel, tally: Tally) -> None:
        self._model = model
        self._tally = tally

    async def run(self, call: AgentCall) -> AgentAnswer:
        message = await self._model.ainvoke(call.prompt)
        self._tally.add_turn(message.text)
        return AgentAnswer(message.text, _usage(message))


def _usage(message: AIMessage) -> WorkflowUsage:
    """The tokens that a model reports; 0 if it reports none."""
    usage = message.usage_metadata
    if usage is None:
        return WorkflowUsage()
    return WorkflowUsage(input_tokens=usage["input_tokens"], output_tokens=usage["output_tokens"])
