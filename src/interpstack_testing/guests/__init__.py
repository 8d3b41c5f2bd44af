"""Guest languages as the kit sees them, two of them ready-made."""

from __future__ import annotations

from interpstack_testing.guests.guest import ANY_ERROR, KINDS, VALUE, Attack, GuestSamples
from interpstack_testing.guests.javascript import JAVASCRIPT
from interpstack_testing.guests.python import PYTHON

__all__ = ["ANY_ERROR", "JAVASCRIPT", "KINDS", "PYTHON", "VALUE", "Attack", "GuestSamples"]
