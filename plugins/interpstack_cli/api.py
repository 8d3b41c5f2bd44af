"""Public names of the plugin: how commands of other plugins print, and find objects by name."""

from __future__ import annotations

from interpstack_cli.printing import printable, standard_output
from interpstack_cli.running.references import attribute_named

__all__ = ["attribute_named", "printable", "standard_output"]
