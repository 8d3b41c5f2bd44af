"""JSON Schemas: types of a guest language for the signatures of tools, and bounded evaluation.

A language subclasses `SchemaWalk`, which knows the schemas, and says how its types are written.
"""

from __future__ import annotations

from interpstack_schemas.bounded import OutOfTime, bounded_dialect, within
from interpstack_schemas.walk import Compound, SchemaWalk, needed, one_line

__all__ = [
    "Compound",
    "OutOfTime",
    "SchemaWalk",
    "bounded_dialect",
    "needed",
    "one_line",
    "within",
]
