"""`JsReplMiddleware`: a persistent JavaScript REPL for agents, whose helpers are on one global.

It is another surface over the evals of `interpstack_langchain`: other tools, words and helpers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import interpstack_langchain.api  # noqa: F401 - a missing package is named with its extra
from interpstack.lazy import lazy_names

if TYPE_CHECKING:
    from interpstack_js_repl.middleware import JsReplMiddleware
else:
    # Readers of records need no agent, which takes seconds to import.
    __getattr__, __dir__ = lazy_names(__name__, {"JsReplMiddleware": "middleware"})

__all__ = ["JsReplMiddleware"]
