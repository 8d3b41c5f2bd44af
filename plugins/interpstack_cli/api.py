"""Public names of the plugin: how commands of other plugins print."""

from __future__ import annotations

from interpstack_cli.printing import printable, standard_output

__all__ = ["printable", "standard_output"]
