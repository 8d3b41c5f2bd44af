"""The kit as one class."""

from __future__ import annotations

from interpstack_testing.conformance.cells import CellTests
from interpstack_testing.conformance.console import ConsoleTests
from interpstack_testing.conformance.crossing import CrossingTests
from interpstack_testing.conformance.determinism import DeterminismTests
from interpstack_testing.conformance.ends import EndTests
from interpstack_testing.conformance.errors import ErrorTests
from interpstack_testing.conformance.hostile import HostileTests
from interpstack_testing.conformance.images import ForeignImageTests, ImageTests, SuspensionTests
from interpstack_testing.conformance.isolation import IsolationTests
from interpstack_testing.conformance.life import LifeTests
from interpstack_testing.conformance.limits import CpuLimitTests, LimitTests, MemoryLimitTests
from interpstack_testing.conformance.modules import ModuleTests, TypeScriptTests
from interpstack_testing.conformance.portable import PortableTests
from interpstack_testing.conformance.requests import RequestTests
from interpstack_testing.conformance.undo import UndoTests

__all__ = ["EngineConformance"]


class EngineConformance(
    CellTests,
    CrossingTests,
    ConsoleTests,
    ErrorTests,
    RequestTests,
    EndTests,
    LimitTests,
    CpuLimitTests,
    MemoryLimitTests,
    ImageTests,
    SuspensionTests,
    UndoTests,
    PortableTests,
    ModuleTests,
    TypeScriptTests,
    DeterminismTests,
    IsolationTests,
    HostileTests,
    ForeignImageTests,
    LifeTests,
    kit=True,
):
    """What every engine must do, as a class of tests.

    ```python
    class TestMyEngine(EngineConformance):
        guest = JAVASCRIPT

        def make_engine(self):
            return MyEngine()
    ```

    Tests of a capability are skipped where the engine does not declare it. A declared one is
    tested; what it cannot do all the same is told in `gaps`, by test name, with the reason:
    `gaps = {"test_damaged_images_are_refused": "images carry no checksum"}`. One case of a test
    is named as pytest shows it, `test_hostile_guest[loops/regex]`. A gap that has been closed
    fails until it is taken off. Gaps in `varying` do not show every time. Gaps in `fatal` are not
    tried at all, since they end the process.

    Raises:
        TypeError: When a subclass is made: it replaces a test of the kit, or names a gap that is
            no test or has no reason. When tests are collected: it has no `guest`, or one of its
            tests is marked to be skipped.
    """
