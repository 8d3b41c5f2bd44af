"""Public names of the plugin: what commands of other plugins print, find and check with."""

from __future__ import annotations

from interpstack_cli.printing import printable, standard_output
from interpstack_cli.running.bounds import check_mebibytes, check_seconds
from interpstack_cli.running.references import attribute_named

__all__ = ["attribute_named", "check_mebibytes", "check_seconds", "printable", "standard_output"]
