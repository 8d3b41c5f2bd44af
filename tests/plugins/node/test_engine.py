"""The engine's options, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from interpstack import (
    BridgeRegistry,
    Capability,
    ConfigurationError,
    EngineFailure,
    Image,
    ImageError,
    InterpreterStack,
    Isolation,
    Limits,
)
from interpstack_node.engine import NodeEngine


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"node_path": 5}, "node_path takes a path or None; got 5"),
        ({"node_path": ""}, "node_path takes a path or None; got ''"),
        ({"kernels": 0}, "kernels takes a number from 1"),
        ({"kernels": True}, "kernels takes a whole number; got True"),
        ({"kernels": 1.5}, "kernels takes a whole number; got 1.5"),
        ({"prestarted": -1}, "prestarted takes a number from 0"),
        ({"idle_seconds": 0}, "idle_seconds takes a number from 0.1"),
        ({"idle_seconds": "1"}, "idle_seconds takes a number; got '1'"),
        ({"grace_seconds": float("nan")}, "grace_seconds takes a number from"),
        ({"message_bytes": 1000}, "message_bytes takes a number from"),
        ({"module_dirs": [1]}, "module_dirs takes a list of folders; it has 1"),
        ({"module_dirs": [None]}, "module_dirs takes a list of folders; it has None"),
        ({"module_dirs": 1}, "module_dirs takes a list of folders; got 1"),
        ({"module_dirs": "/"}, "module_dirs takes a list of folders; got '/'"),
        ({"readable": [1]}, "readable takes a list of paths; it has 1"),
        ({"readable": 1}, "readable takes a list of paths; got 1"),
        ({"working_dir": 5}, "working_dir takes the path of a folder; got 5"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], found: str) -> None:
    with pytest.raises(ConfigurationError, match=found):
        NodeEngine(**options)


def test_what_it_claims() -> None:
    assert NodeEngine.isolation is Isolation.PROCESS
    assert NodeEngine.languages() == ("javascript", "typescript")
    lacking = set(Capability) - NodeEngine.capabilities
    assert lacking == {Capability.IMAGES, Capability.SUSPENSION, Capability.UNDO}


def test_no_process_is_put_around_it() -> None:
    with pytest.raises(ConfigurationError, match="its guests have processes of their own; ask"):
        InterpreterStack("process:node")


def test_there_are_no_images() -> None:
    with pytest.raises(ImageError, match="engine 'node' has no images"):
        NodeEngine().open(Limits(), BridgeRegistry().freeze(), Image("node", "", b""))


def test_without_a_node_a_cell_says_what_to_install() -> None:
    engine = NodeEngine(node_path="/nowhere/node")
    with pytest.raises(ConfigurationError, match=r"node_path .*pip install 'interpstack\[node\]'"):
        engine.open(Limits(), BridgeRegistry().freeze())


async def test_without_a_node_no_cell_claims_that_the_engine_broke() -> None:
    async with (
        InterpreterStack(NodeEngine(node_path="/nowhere/node")) as stack,
        stack.session() as session,
    ):
        with pytest.raises(ConfigurationError, match="needs Node") as refused:
            await session.eval("1")
    assert "broke" not in str(refused.value)


def test_a_closed_engine_opens_nothing() -> None:
    engine = NodeEngine()
    engine.close()
    engine.close()
    with pytest.raises(EngineFailure, match="the engine was closed"):
        engine.open(Limits(), BridgeRegistry().freeze())
