"""The testing kit: tests of engines, bridges, persistence modes and stores, and a reference engine.

| Name | Is |
|---|---|
| `EngineConformance` | base class: the tests of an engine |
| `BridgeConformance` | base class: the tests of a plugin with bridges, each with a `BridgeUse` |
| `PersistenceConformance` | base class: the tests of a persistence mode |
| `BlobStoreConformance` | base class: the tests of a store of blobs |
| `StateStoreConformance` | base class: those, and the tests of labels, logs and inboxes |
| `GuestSamples`, `Attack` | samples in a guest language; `JAVASCRIPT` and `PYTHON` are ready-made |
| `FakeEngine` | an engine that needs nothing but Python and offers no isolation |

The conformance classes need pytest and hypothesis, `pip install 'interpstack[testing]'`; they are
imported when they are asked for, so that the rest works without.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from interpstack_testing.fake import FakeEngine
from interpstack_testing.guests import JAVASCRIPT, PYTHON, Attack, GuestSamples

if TYPE_CHECKING:
    from interpstack_testing.conformance.areas import Area
    from interpstack_testing.conformance.bridges import BridgeConformance, BridgeUse
    from interpstack_testing.conformance.engine import EngineConformance
    from interpstack_testing.conformance.persistence import PersistenceConformance
    from interpstack_testing.conformance.state_stores import StateStoreConformance
    from interpstack_testing.conformance.stores import BlobStoreConformance

__all__ = [
    "JAVASCRIPT",
    "PYTHON",
    "Area",
    "Attack",
    "BlobStoreConformance",
    "BridgeConformance",
    "BridgeUse",
    "EngineConformance",
    "FakeEngine",
    "GuestSamples",
    "PersistenceConformance",
    "StateStoreConformance",
]

#: Where the names are that need pytest and hypothesis.
_LAZY = {
    "Area": "areas",
    "BlobStoreConformance": "stores",
    "BridgeConformance": "bridges",
    "BridgeUse": "bridges",
    "EngineConformance": "engine",
    "PersistenceConformance": "persistence",
    "StateStoreConformance": "state_stores",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _show_values_in_assertions()
    try:
        module = import_module(f"interpstack_testing.conformance.{_LAZY[name]}")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{name} needs {error.name}; install the extra with: pip install "
            "'interpstack[testing]'",
            name=error.name,
        ) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    """The public names, with those that are imported when they are asked for."""
    return [*globals(), *_LAZY]


def _show_values_in_assertions() -> None:
    """Let pytest rewrite the kit's assertions, as in test modules."""
    import sys

    pytest = sys.modules.get("pytest")
    if pytest is not None and "interpstack_testing.conformance" not in sys.modules:
        pytest.register_assert_rewrite("interpstack_testing.conformance")
