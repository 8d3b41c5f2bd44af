"""Sources that run in the guest: the verbs, and the modules that a workflow may import."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from interpstack import Bridge, BridgeSet, GuestSource
from interpstack_javascript import JAVASCRIPT
from interpstack_workflows.runtime.boundary import WorkflowModuleInput
from interpstack_workflows.runtime.requests import KINDS

__all__ = ["CELL", "CELL_NAME", "ENTRY", "GUARD_CELL", "bridge_set", "module_sources", "restricted"]

#: The specifier by which the cell imports the module of the workflow.
ENTRY: Final = "@/workflow"
#: The source of the cell.
CELL: Final = f'await $workflow(() => import("{ENTRY}"))'
#: The source of a cell that guards a realm and does no more.
GUARD_CELL: Final = "$workflow.guard()"
#: The name of the cell, whose frames in stack traces are not the script's.
CELL_NAME: Final = "interpstack:workflow"
#: Modules of the host that an error lists.
_LISTED: Final = 20
_OWNER: Final = "interpstack_workflows"
#: Read when this is imported: an event loop must not wait for files.
_SOURCE: Final = (files(_OWNER) / "runtime" / "workflow.js").read_text("utf-8")
_EXTRA: Final = (
    "export const { sleep, ask, wait, checkpoint } = SW.extra;\nexport default SW.extra;\n"
)
_SANDBOX: Final = "export const { exec } = SW.sandbox;\nexport default SW.sandbox;\n"


def _taken(value: Any) -> None:
    raise NotImplementedError("a module run takes the messages of its guest itself")


def bridge_set() -> BridgeSet:
    """Return the bridges behind the verbs, all hidden, and the guest source that calls them."""
    requests = ("start", *KINDS)
    calls = ("calls", "failed", "result")
    bridges = [
        Bridge(
            name=f"workflow.{name}",
            handler=_taken,
            owner=_OWNER,
            raw=True,
            hidden=True,
            awaited=name in requests,
        )
        for name in (*requests, *calls)
    ]
    source = GuestSource(JAVASCRIPT.name, CELL_NAME, _SOURCE, owner=_OWNER)
    return BridgeSet({each.name: each for each in bridges}, (source,), {}, JAVASCRIPT)


def restricted(start: WorkflowModuleInput) -> str:
    """Return the message for an import that a workflow may not make; it names those that it may."""
    host = sorted(start.modules)
    more = [f"{len(host) - _LISTED} more"] if len(host) > _LISTED else []
    *names, last = ["workflow:extra", "workflow:sandbox", *host[:_LISTED], *more]
    return (
        f"workflow imports are restricted; only {', '.join(names)} and {last} are available. The "
        "host offers a file of its own by WorkflowRunner(modules={'team:name': FILE}), or --module "
        "team:name=FILE"
    )


def module_sources(start: WorkflowModuleInput) -> Mapping[str, str]:
    """Return the module of a workflow, and those it may import, by name."""
    return {
        start.source_name: start.source,
        "workflow:extra": _EXTRA,
        "workflow:sandbox": _SANDBOX,
        **start.modules,
    }
