"""The tools' bridges, held to the kit."""

from __future__ import annotations

from typing import Any, ClassVar

from interpstack import CellContext, GuestException, HostOffer, HostTool
from interpstack_testing import BridgeConformance, BridgeUse


async def _search(given: dict[str, Any], context: CellContext) -> Any:
    if given.get("query") == "nothing":
        raise GuestException("no such page")
    return {"found": given.get("query")}


class TestTools(BridgeConformance):
    uses = (
        BridgeUse(
            name="tools.webSearch",
            input={"query": "x"},
            answer={"found": "x"},
            wrong=[7, [1]],  # a text is the one field of the tool
            fails=[({"query": "nothing"}, "no such page")],
        ),
        BridgeUse(name="tools.$search", input="web"),
        BridgeUse(name="tools.$describe", input="webSearch", fails=[("unheardOf", "unheardOf")]),
    )

    gaps: ClassVar[dict[str, str]] = {
        f"test_the_prompt_tells_of_it[tools.{name}]": "told only where there are many tools"
        for name in ("$search", "$describe")
    }

    def make_plugins(self) -> list[str]:
        return ["ptc"]

    def make_offer(self) -> HostOffer:
        schema = {"type": "object", "properties": {"query": {"type": "string"}}}
        tool = HostTool(
            name="web_search",
            call=_search,
            description="Search the web.",
            input_schema=schema,
            concurrency=2,
            budget=5,
        )
        return HostOffer(tools=[tool])
