"""Measures a process that starts: `start.py SIDE CASE` writes the figures as a line of JSON.

Nothing that a side needs may be imported before its clock runs, so this file imports almost
nothing. The start of Python itself is not counted.

`first_start` and `later_start` are the engine's part: from importing the package to the text of
the first `1+1`. The peer cannot be imported without agent packages, and an agent needs them
anyway, so both sides import the same ones before their clock runs.
"""

from __future__ import annotations

import importlib
import sys
import time

__all__: list[str] = []

#: Packages that `import interpstack` must leave alone.
_HEAVY = (
    "quickjs_rs",
    "wasmtime",
    "langchain",
    "langchain_core",
    "langgraph",
    "deepagents",
    "pydantic",
)


def _agent_packages() -> None:
    for name in ("deepagents.middleware", "langchain.agents.middleware", "langgraph.prebuilt"):
        importlib.import_module(name)


def _ours_result() -> float:
    begun = time.perf_counter()
    from interpstack import InterpreterStack

    session = InterpreterStack(plugins=["console"]).session("bench")
    text = session.render(session.eval_sync("1 + 1"))
    return _checked(text, begun)


def _peer_result() -> float:
    begun = time.perf_counter()
    from langchain_quickjs._format import format_outcome
    from langchain_quickjs._repl import _Registry

    registry = _Registry(
        memory_limit=64 * 2**20, timeout=120.0, capture_console=True, max_stdout_chars=4000
    )
    outcome = registry.get("bench").eval_sync("1 + 1")
    return _checked(format_outcome(outcome, max_result_chars=4000), begun)


def _checked(text: str, begun: float) -> float:
    spent = time.perf_counter() - begun
    if text != "<result>2</result>":
        raise RuntimeError(text)
    return spent


def _imports(side: str) -> dict[str, float]:
    begun = time.perf_counter()
    if side == "ours":
        import interpstack  # noqa: F401
    else:
        import langchain_quickjs  # noqa: F401
    spent = time.perf_counter() - begun
    return {"s": spent, "heavy": sum(name in sys.modules for name in _HEAVY)}


def _main(side: str, case: str) -> None:
    if case == "imports":
        figures = _imports(side)
    else:
        _agent_packages()
        figures = {"s": _ours_result() if side == "ours" else _peer_result()}
    import json

    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
