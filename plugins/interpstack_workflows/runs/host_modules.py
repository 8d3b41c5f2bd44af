"""Modules of the host: sources that scripts may import beside `workflow:extra`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from interpstack import ConfigurationError
from interpstack.checks import shown
from interpstack_javascript.cells import TypeScriptError, strip_types
from interpstack_workflows.runs.catalog import ENDINGS
from interpstack_workflows.runtime.boundary import WorkflowModuleInput

__all__ = ["read_modules"]

#: Bytes of all modules together.
_BYTES: Final = 2**20
_TYPED: Final = (".ts", ".mts")
#: Seconds that the types of one module may take to remove.
_SECONDS: Final = 5.0
_ACCEPTED: Final = (
    "modules takes files that end in .js, .mjs, .ts, .mts or .json, or sources, by specifier, as in"
    " {'team:prompts': Path('prompts.js')}"
)


def read_modules(modules: Mapping[str, Path | str] | None) -> dict[str, str]:
    """Sources by specifier.

    They run in the realm of the script, as untrusted as the script itself. A `.json` file becomes a
    module with the value as its default export. A run is replayed with the modules that its runner
    has, so a change of one is like a change of the script.

    Args:
        modules: Files, or sources as text; a specifier has a scheme, as in `team:prompts`.

    Raises:
        ConfigurationError: A specifier is wrong, or a file cannot be read.
    """
    if modules is not None and not isinstance(modules, Mapping):
        raise ConfigurationError(f"WorkflowRunner: {_ACCEPTED}; got {shown(modules)}")
    read = {name: _source(name, given) for name, given in (modules or {}).items()}
    WorkflowModuleInput(source="", modules=read)  # checks the specifiers
    if sum(len(text.encode("utf-8", "surrogatepass")) for text in read.values()) > _BYTES:
        raise ConfigurationError("WorkflowRunner: modules takes at most 1 MiB of sources in total")
    return read


def _source(name: Any, given: Any) -> str:
    if isinstance(given, str):
        return given
    if not isinstance(given, Path) or given.suffix not in (*ENDINGS, ".json"):
        raise ConfigurationError(f"WorkflowRunner: {_ACCEPTED}; got {name!r:.80}: {shown(given)}")
    try:
        text = given.read_text("utf-8")
        if given.suffix in _TYPED:
            return strip_types(text, given.name, _SECONDS)
    except (OSError, UnicodeDecodeError, TypeScriptError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise ConfigurationError(
            f"WorkflowRunner: the module {name!r:.80} cannot be read from {given}: {why}"
        ) from error
    return _json_module(name, given, text) if given.suffix == ".json" else text


def _json_module(name: str, path: Path, text: str) -> str:
    """Return a module that exports a JSON value; the text is a literal of JavaScript, too."""
    try:
        value = json.dumps(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"WorkflowRunner: the module {name!r:.80} is not JSON: {path}: {error}"
        ) from error
    return f"export default JSON.parse({json.dumps(value)})"
