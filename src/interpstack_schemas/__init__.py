"""Types of a guest language from JSON Schemas, for the signatures of tools.

A language subclasses `SchemaWalk`, which knows the schemas, and says how its types are written.
"""

from __future__ import annotations

from interpstack_schemas.walk import Compound, SchemaWalk, needed, one_line

__all__ = ["Compound", "SchemaWalk", "needed", "one_line"]
