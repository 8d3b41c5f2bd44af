"""The set-up of a fresh V8 context before any guest: kernel, web APIs and the plugins' sources.

No start snapshot holds it. V8 keeps one read-only heap per process, laid out by the snapshot of
the first isolate. An isolate from another snapshot, such as that of other sources or of a runtime
that someone else opens, reads wrong objects there and, sooner or later, ends the process.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final
from urllib.parse import quote, unquote

import attrs

from interpstack import GuestSource
from interpstack_javascript import KERNEL_NAME, ascii_source, kernel_source, web_source

__all__ = [
    "DOOR",
    "SCRIPT",
    "SetupScript",
    "kernel_module",
    "module_name",
    "module_url",
    "setup_script",
    "setup_scripts",
]

#: Global through which the host enters; see `host.js`.
DOOR: Final = "$interpstack"
#: What V8 calls a cell in stack traces; the kernel puts the cell's own name in its place.
SCRIPT: Final = "guest:cell"
#: jsrun names modules by URL.
_SCHEME: Final = "module:"


def module_url(name: str) -> str:
    """The name of a module in jsrun."""
    return _SCHEME + quote(name, safe="@/")


def module_name(url: str) -> str:
    """The name of a module from its URL; any other text is returned unchanged."""
    return unquote(url.removeprefix(_SCHEME)) if url.startswith(_SCHEME) else url


@attrs.frozen
class SetupScript:
    """JavaScript that sets a context up.

    Attributes:
        name: The name of the original source, for stack traces and failures.
        text: A classic script whose value is `undefined`.
    """

    name: str
    text: str


def setup_scripts(sources: Sequence[GuestSource]) -> Sequence[SetupScript]:
    """The scripts that set up a context of jsrun with these guest sources, in order."""
    return _scripts(tuple(sources))


@cache
def _scripts(sources: tuple[GuestSource, ...]) -> Sequence[SetupScript]:
    reported = "(__bootstrap.core.ops.op_destructure_error)"
    guarded = "(__bootstrap.core.ops.op_memory_usage)"
    given = "$setup.kernel, __bootstrap.core, $setup.limit, $setup.clock, $setup.traces.untraced"
    names = f"{json.dumps(DOOR)}, {json.dumps(SCRIPT)}"
    web = GuestSource("javascript", "interpstack:web", web_source())
    return (
        setup_script("interpstack:setup", f"globalThis.$setup = {_read('setup.js')}"),
        setup_script("interpstack:prepare", "$setup.prepare()"),
        setup_script("interpstack:errors", f"$setup.traces = ({_read('errors.js')}){reported}"),
        setup_script("interpstack:parts", f"({_read('parts.js')})()"),
        setup_script(
            "interpstack:arrays", f"({_read('arrays.js')})(__bootstrap.core.ops.op_is_proxy)"
        ),
        setup_script("interpstack:guard", f"$setup.limit = ({_read('guard.js')}){guarded}"),
        # A module, so that its imports differ from imports of the guest's own code.
        SetupScript(KERNEL_NAME, f"import({json.dumps(module_url(KERNEL_NAME))}).then(() => {{}})"),
        *(setup_script(each.name, f"({each.source})($setup.api)") for each in (web, *sources)),
        setup_script("interpstack:host", f"$setup.record = ({_read('host.js')})({given}, {names})"),
        setup_script("interpstack:seal", "$setup.seal()"),
    )


@cache
def kernel_module() -> str:
    """The module that sets the kernel up, which the module loader knows as `KERNEL_NAME`.

    As ASCII, it takes 80 KB less of each isolate.
    """
    return f"$setup.kernel = ({ascii_source(kernel_source())})(); $setup.tap()"


def setup_script(name: str, source: str) -> SetupScript:
    """A script whose name stack traces show."""
    return SetupScript(name, f"{source};undefined\n//# sourceURL={name}")


@cache
def _read(name: str) -> str:
    return (files("interpstack_v8") / name).read_text("utf-8")
