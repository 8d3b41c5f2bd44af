"""The testing kit: a reference engine, and tests that every engine must pass.

`FakeEngine` needs nothing but Python and offers no isolation. `EngineProtocolTests` is a base
class for the tests of an engine: fill in its samples in the guest's language.
"""

from __future__ import annotations

from interpstack.testing.fake import FakeEngine
from interpstack.testing.protocol import EngineProtocolTests

__all__ = ["EngineProtocolTests", "FakeEngine"]
