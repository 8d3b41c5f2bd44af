"""QuickJS and Monty in actors of a Ray cluster, held to the kit. They need the extra `ray`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar

import pytest
from clusters import local_cluster
from suites import seed

from interpstack import Engine, InterpreterStack
from interpstack_monty.conformance import MontyConformance
from interpstack_quickjs.heap.images import SEAL_BYTES, sealed
from interpstack_ray.conformance import RayQuickJSConformance

pytest.importorskip("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A cluster that all engines of this module use."""
    with local_cluster():
        yield


class TestRayQuickJS(RayQuickJSConformance):
    """The report tries all attacks; so do the tests of QuickJS itself."""

    attacks_one_in: ClassVar[int] = 8
    attacks_from: ClassVar[int] = seed()

    def forged(self, data: bytes, change: Callable[[bytes], bytes]) -> bytes:
        return sealed(change(data[SEAL_BYTES:]))


class TestRayMonty(MontyConformance):
    """Monty, whose gaps are the same in an actor."""

    attacks_one_in: ClassVar[int] = 8
    attacks_from: ClassVar[int] = seed()

    def make_engine(self) -> Engine:
        return InterpreterStack("ray:monty", options={"grace_seconds": 60.0}).engine
