"""JSON Schemas: types of a guest language for the signatures of tools, and bounded evaluation.

A language subclasses `SchemaWalk`, which knows the schemas, and says how its types are written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpstack.lazy import lazy_names

if TYPE_CHECKING:
    from interpstack_schemas.bounded import EvaluationTimeout, bounded_dialect, within
    from interpstack_schemas.walk import BYTES, Compound, SchemaWalk, needed, one_line, says_nothing
else:
    # Languages need no evaluation, and a first cell loads one of them.
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "BYTES": "walk",
            "Compound": "walk",
            "EvaluationTimeout": "bounded",
            "SchemaWalk": "walk",
            "bounded_dialect": "bounded",
            "needed": "walk",
            "one_line": "walk",
            "says_nothing": "walk",
            "within": "bounded",
        },
    )

__all__ = [
    "BYTES",
    "Compound",
    "EvaluationTimeout",
    "SchemaWalk",
    "bounded_dialect",
    "needed",
    "one_line",
    "says_nothing",
    "within",
]
