"""Public names of the adapter for packages that give agents another surface over the same evals.

A *surface* is the tools and the words by which a model uses an interpreter. Such a package derives
a middleware from `CodeInterpreterMiddleware` and a `Surface` of its own, and a `RecordedSurface`
for `interpstack replay` and `interpstack inspect`. Agents import `interpstack_langchain` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack.lazy import lazy_names

if TYPE_CHECKING:
    from interpstack_langchain.durability.spending import CostOf
    from interpstack_langchain.evals.eval_call import EvalCall
    from interpstack_langchain.evals.eval_runner import Evals
    from interpstack_langchain.evals.eval_tool import EvalTool
    from interpstack_langchain.evals.surface import Surface
    from interpstack_langchain.middleware import CodeInterpreterMiddleware
    from interpstack_langchain.options import BackgroundOptions, Options, PTCOption, WrongType
    from interpstack_langchain.replay.recorded_surfaces import RecordedCode, RecordedSurface
    from interpstack_langchain.stacks import PRESET
else:
    # Readers of records need no agent, which takes seconds to import.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "PRESET": "stacks",
            "BackgroundOptions": "options",
            "CodeInterpreterMiddleware": "middleware",
            "CostOf": "durability.spending",
            "EvalCall": "evals.eval_call",
            "EvalTool": "evals.eval_tool",
            "Evals": "evals.eval_runner",
            "Options": "options",
            "PTCOption": "options",
            "RecordedCode": "replay.recorded_surfaces",
            "RecordedSurface": "replay.recorded_surfaces",
            "Surface": "evals.surface",
            "WrongType": "options",
        },
    )

__all__ = [
    "PRESET",
    "BackgroundOptions",
    "CodeInterpreterMiddleware",
    "CostOf",
    "EvalCall",
    "EvalTool",
    "Evals",
    "Options",
    "PTCOption",
    "RecordedCode",
    "RecordedSurface",
    "Surface",
    "WrongType",
]
