"""`Intl`, `Temporal` and the locale arguments of built-ins on QuickJS, which has none of its own.

Guests get `guest.bundle.js`: classes that hold locales and options, and `Temporal`. Answers come
from `formatter.bundle.js`, the polyfills of formatjs, which run apart from guests, in another
QuickJS, with the data of the locales. So neither a guest's memory nor its images hold that data.
`interpstack_quickjs.formatters` runs it. Tried before: to load the polyfills into the guest. They
take 10 MB there, which every later image would hold, and 300 ms to be parsed.
"""

from __future__ import annotations

from interpstack import BridgeRegistry, hookimpl


@hookimpl
def interpstack_register_bridges(register: BridgeRegistry) -> None:
    from interpstack_intl.api import guest_source

    register.source(guest_source())
