"""The kit as one class."""

from __future__ import annotations

from interpstack_testing.conformance.bounds.hostile import HostileTests
from interpstack_testing.conformance.bounds.isolation import IsolationTests
from interpstack_testing.conformance.bounds.limits import (
    CpuLimitTests,
    LimitTests,
    MemoryLimitTests,
)
from interpstack_testing.conformance.cell.attachments import AttachmentTests
from interpstack_testing.conformance.cell.console import ConsoleTests
from interpstack_testing.conformance.cell.crossing import CrossingTests
from interpstack_testing.conformance.cell.ends import EndTests
from interpstack_testing.conformance.cell.errors import ErrorTests
from interpstack_testing.conformance.cell.modules import DialectTests, ModuleTests
from interpstack_testing.conformance.cell.requests import RequestTests
from interpstack_testing.conformance.cell.values import CellTests
from interpstack_testing.conformance.state.determinism import DeterminismTests
from interpstack_testing.conformance.state.images import (
    ForeignImageTests,
    ImageTests,
    SuspensionTests,
)
from interpstack_testing.conformance.state.kept_realms import KeptRealmTests
from interpstack_testing.conformance.state.life import LifeTests
from interpstack_testing.conformance.state.portable import PortableTests
from interpstack_testing.conformance.state.undo import UndoTests

__all__ = ["EngineConformance"]


class EngineConformance(
    CellTests,
    CrossingTests,
    ConsoleTests,
    AttachmentTests,
    ErrorTests,
    RequestTests,
    EndTests,
    LimitTests,
    CpuLimitTests,
    MemoryLimitTests,
    ImageTests,
    SuspensionTests,
    KeptRealmTests,
    UndoTests,
    PortableTests,
    ModuleTests,
    DialectTests,
    DeterminismTests,
    IsolationTests,
    HostileTests,
    ForeignImageTests,
    LifeTests,
    kit=True,
):
    """Conformance tests for engines, as a class.

    ```python
    class TestMyEngine(EngineConformance):
        guest = JAVASCRIPT

        def make_engine(self):
            return MyEngine()
    ```

    Tests of a capability are skipped if the engine does not declare it. Failures of a declared
    capability are listed in `gaps`, by test name, with the reason: `gaps =
    {"test_damaged_images_are_refused": "images carry no checksum"}`. One case of a test is named as
    pytest shows it, `test_hostile_guest[loops/regex]`. A gap whose test passes fails until the gap
    is removed. Gaps in `varying` may pass at times. Gaps in `fatal` are not run at all, because
    they end the process.

    Raises:
        TypeError: When a subclass is made: it replaces a test of the kit, or names a gap that is
            no test or has no reason. When tests are collected: it has no `guest`, or one of its
            tests is marked to be skipped.
    """
