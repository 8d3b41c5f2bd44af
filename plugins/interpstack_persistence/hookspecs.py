"""The hook that this plugin brings: where adapters find persistence modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpstack_agents import Persistence

hookspec = pluggy.HookspecMarker("interpstack")


@hookspec
def interpstack_register_persistence() -> Sequence[type[Persistence]]:
    """Return the persistence modes that an adapter may ask for by their `name`.

    Called by `interpstack_agents.persistence_mode`, once for each look-up.

    Returns:
        Concrete subclasses of `Persistence`. `None` means that the plugin has none to offer.
    """
