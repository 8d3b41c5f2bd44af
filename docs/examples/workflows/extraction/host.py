"""Books invoices from texts: `python host.py`. The agents are functions, so no model is needed."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

from interpstack_workflows.api import AgentCall, WorkflowResult, WorkflowRunner

SCRIPT = Path(__file__).with_name("invoices.workflow.js")
TEXTS = [
    "Invoice A-1. Tea 3.50, milk 1.25. Total 4.75.",
    "Invoice A-2. Bread 2.00, shipping 1.50. Total 3.50.",
    "Invoice A-3. Salt 1.00. Total 9.00.",
    "Invoice A-1. Tea 3.50, milk 1.25. Total 4.75.",
    "A letter.",
]


async def extract(call: AgentCall) -> Any:
    """Reads invoices, with the faults that a model makes at first.

    At the first attempt, amounts are text; and shipping is an item only where a hint asks for sums.
    """
    text = json.loads(call.prompt.partition("Text: ")[2].partition("\n")[0])
    number = re.search(r"Invoice (\S+)\.", text)
    amounts = re.findall(r"(\w+) (\d+)\.(\d\d)\b", text)
    if number is None or not amounts:
        raise LookupError("there is no invoice in this text")
    cents = [(name.lower(), int(whole) * 100 + int(part)) for name, whole, part in amounts]
    items = [{"name": name, "cents": amount} for name, amount in cents if name != "total"]
    if "add up" not in call.prompt:
        items = [item for item in items if item["name"] != "shipping"]
    total: Any = dict(cents)["total"]
    return {
        "number": number[1],
        "items": items,
        "total": total if call.correction or len(items) < 2 else str(total),
    }


class Books:
    """Books invoices; each number is booked once."""

    def __init__(self) -> None:
        self._keys: dict[str, str] = {}
        self.booked: dict[str, int] = {}

    async def __call__(self, call: AgentCall) -> str:
        invoice = json.loads(call.prompt)
        number = invoice["number"]
        # A step that is tried again after a crash has the same key, and changes nothing.
        if self._keys.setdefault(number, call.key) != call.key:
            raise ValueError(f"invoice {number} is booked already")
        self.booked[number] = invoice["total"]
        return f"entry {[*self.booked].index(number) + 1}"


async def book(texts: list[str], books: Books) -> WorkflowResult:
    """Book the invoices of some texts."""
    agents = {"extractor": extract, "books": books}
    async with WorkflowRunner(agents=agents) as runner:
        return await runner.run(SCRIPT, {"texts": texts})


if __name__ == "__main__":
    done = asyncio.run(book(TEXTS, Books()))
    print(json.dumps(done.result or done.error, indent=2))
