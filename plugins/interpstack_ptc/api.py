"""Public names of the plugin: parts for adapters to pass to it, and names of tools in guests."""

from __future__ import annotations

import attrs

from interpstack_ptc.names import guest_name, guest_names

__all__ = ["ToolSignatures", "guest_name", "guest_names"]


@attrs.frozen(kw_only=True)
class ToolSignatures:
    """Part of a `HostOffer` that bounds the prompt section on tools.

    Attributes:
        max_chars: Characters that all signatures together may take; beyond them, the section
            lists only the tools' names.
    """

    max_chars: int = 4000
