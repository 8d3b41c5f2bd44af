"""An agent that writes a report from values which stay with the host.

`python agent.py` uses a scripted model, without a network; `python agent.py PROVIDER:NAME` a real
one.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from make_data import PLANTS, readings_of
from scripted_model import ScriptedModel

from interpstack import hookimpl
from interpstack_handles.api import Handles
from interpstack_langchain import CodeInterpreterMiddleware

FOLDER = Path("report")
QUESTION = (
    "Write a report on our solar plants north, south and west in 2025: the sum of each, and when "
    "each failed by day in the summer. Append all readings."
)
moved: Counter[str] = Counter()  # characters that tools returned and received


def counted(value: Any) -> Any:
    moved["chars"] += len(json.dumps(value))
    return value


@tool
def readings(plant: str) -> list[dict[str, Any]]:
    """All readings of a plant in 2025: `time`, `kwh` and `degrees`, for each quarter of an hour."""
    if plant not in PLANTS:
        raise ValueError(f"there is no plant {plant!r}; there are {', '.join(PLANTS)}")
    return counted(readings_of(plant))


@tool
def daily_sums(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sum up readings for each day: a `day` and its `kwh`."""
    days: dict[str, float] = {}
    for row in counted(rows):
        day = row["time"][:10]
        days[day] = days.get(day, 0) + row["kwh"]
    return [{"day": day, "kwh": round(kwh, 3)} for day, kwh in days.items()]


@tool
def publish(title: str, lines: list[str], appendices: dict[str, list[dict[str, Any]]]) -> str:
    """Write a report of some lines, with a CSV file for each table in `appendices`."""
    FOLDER.mkdir(exist_ok=True)
    written = []
    for name, rows in counted(appendices).items():
        path = FOLDER / f"{Path(name).name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
        written.append(f"- {path.name}: {len(rows):,} rows")
    text = "\n".join([f"# {title}", "", *lines, "", *written, ""])
    (FOLDER / "report.md").write_text(text, "utf-8")
    return text


class ReadByCode:
    """A plugin that counts the characters of the answers that code gets."""

    name = "read-by-code"
    chars = 0

    @hookimpl
    def interpstack_wrap_request(self, session: Any, request: Any) -> Any:
        async def noted(make: Any) -> Any:
            settlement = await make()
            self.chars += len(settlement.text)
            return settlement

        return noted


class ReadByModel(BaseCallbackHandler):
    """Counts the turns of the model, and the characters of the messages that it reads."""

    turns = chars = 0

    def on_chat_model_start(self, serialized: Any, messages: list[Any], **kwargs: Any) -> None:
        self.turns += 1
        code = [str(getattr(message, "tool_calls", "")) for message in messages[0]]
        self.chars += sum(len(message.text) for message in messages[0]) + len("".join(code))


def main() -> None:
    model = init_chat_model(sys.argv[1]) if sys.argv[1:] else ScriptedModel()
    by_code, by_model = ReadByCode(), ReadByModel()
    agent = create_agent(
        model,
        middleware=[
            CodeInterpreterMiddleware(
                ptc=[readings, daily_sums, publish],
                handles=Handles(handle_bytes=100_000),
                plugins=[by_code],
            )
        ],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}, "callbacks": [by_model]}
    state = agent.invoke({"messages": [("user", QUESTION)]}, config)
    print(f"{state['messages'][-1].text}\n")
    print(f"The model took {by_model.turns} turns and read {by_model.chars:,} characters.")
    print(f"Its code read {by_code.chars:,} characters.")
    print(f"Tools returned and received {moved['chars']:,} characters.")


if __name__ == "__main__":
    main()
