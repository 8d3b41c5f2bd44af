"""The WebAssembly file of quickjs-rs: the QuickJS guest."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from interpstack.contracts.errors import EngineFailure

__all__ = ["guest_path"]


@cache
def guest_path(name: str = "_guest.wasm") -> Path:
    """The path of a WebAssembly file in quickjs-rs; the package itself is not imported.

    Raises:
        EngineFailure: quickjs-rs is missing or has no such file.
    """
    spec = find_spec("quickjs_rs")
    if spec is None or not spec.origin:
        raise EngineFailure(
            "quickjs-rs is not installed; run: pip install 'quickjs-rs>=0.2.6,<0.3'"
        )
    path = Path(spec.origin).with_name(name)
    if not path.is_file():
        found = version("quickjs-rs")
        raise EngineFailure(
            f"quickjs-rs {found} has no {name}; run: pip install 'quickjs-rs>=0.2.6,<0.3'"
        )
    return path
