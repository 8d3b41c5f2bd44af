"""The texts that kernels run from their start."""

from __future__ import annotations

import gc
import json
import os

import pytest

from interpstack import GuestSource
from interpstack_node.kernels.programs import Programs, guest_programs


def _programs(source: str, cwd: str | None = None) -> Programs:
    sources = (GuestSource("javascript", "mine", source),)
    return guest_programs(sources, memory_bytes=None, cwd=cwd, network=False)


def test_the_same_texts_are_made_once() -> None:
    assert _programs("() => 1") is _programs("() => 1")
    assert _programs("() => 1") != _programs("() => 2")
    assert _programs("() => 1") != _programs("() => 1", cwd="/")
    assert Programs() == Programs()
    assert hash(Programs()) == hash(Programs())


def test_kernels_can_only_read_them() -> None:
    programs = Programs({"name": "guest"})
    descriptor = programs.descriptor()
    assert descriptor == programs.descriptor()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(descriptor, b"x")
    main, stops, setup = json.loads(os.pread(descriptor, 2**20, 0))
    assert main.startswith("//")
    assert stops.startswith("//")
    assert setup == {"name": "guest"}
    del programs
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
