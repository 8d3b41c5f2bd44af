"""Fixtures: stacks on the reference engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interpstack import Capability, Image, ImageError, InterpreterStack
from interpstack_testing import FakeEngine
from interpstack_testing.fake import FakeRealm


class ImagingRealm(FakeRealm):
    def image(self) -> Image:
        return Image("imaging", "v1", json.dumps(self.values()).encode())


class ImagingEngine(FakeEngine):
    """The reference engine with images: the portable values, as bytes."""

    name = "imaging"
    capabilities = FakeEngine.capabilities | {Capability.IMAGES}

    def __init__(self) -> None:
        self.base = "v1"

    def open(self, limits: Any, bridges: Any, image: Image | None = None) -> ImagingRealm:
        if image is not None and (image.engine, image.base) != ("imaging", self.base):
            raise ImageError("the image was made by another build")
        realm = ImagingRealm(limits, bridges)
        if image is not None:
            realm.load(json.loads(image.data))
        return realm


@pytest.fixture
def imaging_engine() -> ImagingEngine:
    return ImagingEngine()


@pytest.fixture
def make_stack() -> Iterator[Callable[..., InterpreterStack]]:
    """Makes stacks that are closed at the end of the test."""
    stacks = []

    def make(*bridges: Any, engine: Any = None, **options: Any) -> InterpreterStack:
        stack = InterpreterStack(engine or FakeEngine(), bridges=bridges, **options)
        stacks.append(stack)
        return stack

    yield make
    for stack in stacks:
        stack.close()


@pytest.fixture
def make_session(make_stack: Callable[..., InterpreterStack]) -> Callable[..., Any]:
    """Makes sessions, each of a stack of its own."""
    return lambda *bridges, **options: make_stack(*bridges, **options).session("s")
