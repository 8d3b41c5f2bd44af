"""Memory that begins as a view of a template."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from interpstack import BridgeRegistry, Cell, EngineFailure, Limits
from interpstack_quickjs import guest_memory as guests
from interpstack_quickjs.engine import QuickJSEngine
from interpstack_quickjs.guest import Guest
from interpstack_quickjs.heap.base import base_heaps
from interpstack_quickjs.webassembly import instance as instances
from interpstack_quickjs.webassembly import templates
from interpstack_quickjs.webassembly.instance import Instance, Spares
from interpstack_quickjs.webassembly.runtime import guest_runtime
from interpstack_quickjs.webassembly.templates import (
    PAGE,
    Template,
    drop_template,
    keep_template,
    runs,
    template_of,
)

_CELL = "var kept = [1, 'x'.repeat(3e5).length, {a: 1n}]; kept"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="templates need Linux")


@pytest.fixture
def memory() -> bytes:
    return base_heaps.get(()).heap.memory  # type: ignore[return-value]


@pytest.fixture
def template(memory: bytes) -> Template:
    found = template_of(memory)
    assert found is not None
    return found


@pytest.fixture
def instance(memory: bytes) -> Iterator[Instance]:
    made = Instance(guest_runtime())
    made.memory.grow(made.store, (len(memory) - made.memory_bytes) // 65536)
    yield made
    made.close()


def _read(one: Instance) -> bytes:
    return ctypes.string_at(one.host_address(), one.memory_bytes)


def test_a_new_instance_begins_as_a_view_and_can_go_back(
    instance: Instance, template: Template, memory: bytes
) -> None:
    assert instance.begin_with(template)
    assert _read(instance) == memory
    ctypes.memset(instance.host_address() + 2**20, 7, 2**20)
    assert _read(instance) != memory
    assert template.memory == memory
    assert instance.begin_with(template)
    assert _read(instance) == memory


def test_nothing_that_is_written_reaches_another_view_or_the_file(
    instance: Instance, template: Template, memory: bytes
) -> None:
    other = Instance(guest_runtime())
    other.memory.grow(other.store, (len(memory) - other.memory_bytes) // 65536)
    for one in (instance, other):
        assert one.begin_with(template)
    ctypes.memset(instance.host_address(), 7, instance.memory_bytes)
    assert _read(other) == memory
    other.close()
    with pytest.raises(OSError, match="not permitted"):
        os.write(template._file, b"x")
    with pytest.raises((OSError, ValueError)):
        mmap.mmap(template._file, 4096)  # shared, and for writing
    with pytest.raises(OSError, match="not permitted"):
        os.ftruncate(template._file, 0)


@pytest.mark.parametrize("pages", [3, 700])
def test_a_wiped_view_is_one_again(
    instance: Instance, template: Template, memory: bytes, pages: int
) -> None:
    assert instance.begin_with(template)
    ctypes.memset(instance.host_address() + 5 * PAGE, 7, pages * PAGE)
    instance.wipe()
    assert _read(instance) == memory
    assert instance.begin_with(template)
    ctypes.memset(instance.host_address(), 7, PAGE)
    assert instance.begin_with(template)  # from now on it holds what a guest has written
    assert _read(instance) == memory


def test_a_wiped_instance_that_is_no_view_holds_zeros_and_is_copied_to(
    instance: Instance, template: Template
) -> None:
    assert not instance.begin_with(None)
    ctypes.memset(instance.host_address(), 7, PAGE)
    instance.wipe()
    assert not any(_read(instance))
    assert not instance.begin_with(template)


def test_a_view_knows_the_pages_that_were_written(instance: Instance, template: Template) -> None:
    assert instance.begin_with(template)
    address = instance.host_address()
    ctypes.string_at(address + 9 * PAGE, 1)  # to read a page is no change
    for page in (1, 2, 300):
        ctypes.memset(address + page * PAGE + 17, 7, 1)
    found = instance.written()
    if found is None:
        pytest.skip("this system does not tell")
    began, written = found
    assert began is template
    assert len(written) == len(template.memory) // PAGE
    assert [page for page, byte in enumerate(written) if byte] == [1, 2, 300]
    assert list(runs(written)) == [(PAGE, 3 * PAGE), (300 * PAGE, 301 * PAGE)]
    assert instance.is_view_of(template)
    assert not instance.is_view_of(None)


def test_pages_before_the_part_of_interest_are_not_looked_at(
    instance: Instance, template: Template
) -> None:
    assert instance.begin_with(template)
    for page in (1, 2, 300, 310):
        ctypes.memset(instance.host_address() + page * PAGE, 7, 1)
    found = instance.written(2 * PAGE + 5)
    if found is None:
        pytest.skip("this system does not tell")
    assert len(found[1]) == len(template.memory) // PAGE
    assert [page for page, byte in enumerate(found[1]) if byte] == [2, 300, 310]


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ("", []),
        ("0000", []),
        ("1", [(0, 1)]),
        ("0110", [(1, 3)]),
        ("1000000100", [(0, 8)]),
        ("10000000100", [(0, 1), (8, 9)]),
        ("0000000001", [(9, 10)]),
        ("11000000000", [(0, 2)]),
    ],
)
def test_runs_hold_all_written_pages_and_small_gaps(
    marks: str, expected: list[tuple[int, int]]
) -> None:
    found = list(runs(bytes(int(mark) for mark in marks)))
    assert [(start // PAGE, end // PAGE) for start, end in found] == expected


def test_a_wiped_view_has_no_more_written_pages_than_before(
    instance: Instance, template: Template, memory: bytes
) -> None:
    assert instance.begin_with(template)
    for page in (300, 302, 305):
        ctypes.memset(instance.host_address() + page * PAGE, 7, 1)
    before = instance.written()
    for _ in range(3):
        instance.wipe()
        assert instance.begin_with(template)
    assert instance.written() == before
    assert _read(instance) == memory


def test_near_runs_of_pages_are_one() -> None:
    assert list(runs(b"\1\0\0\1\1")) == [(0, 5 * PAGE)]
    assert list(runs(b"\0\1" + bytes(7) + b"\1")) == [(PAGE, 2 * PAGE), (9 * PAGE, 10 * PAGE)]
    assert list(runs(bytes(5))) == []


def test_nothing_is_believed_where_the_system_tells_something_else(
    monkeypatch: pytest.MonkeyPatch, memory: bytes
) -> None:
    real = templates._brief
    answers: dict[str, Any] = {}
    monkeypatch.setattr(
        templates, "_brief", lambda name, *kinds: answers.get(name) or real(name, *kinds)
    )
    assert _written_in_a_new_template(memory[: 4 * PAGE]) is not None
    for found in (b"", bytes(8), bytes(32), b"\xff" * 32):

        def pread(file: int, address: int, size: int, at: int, found: bytes = found) -> int:
            ctypes.memmove(address, found, len(found))
            return len(found)

        answers["pread"] = pread
        assert _written_in_a_new_template(memory[: 4 * PAGE]) is None
    answers["pread"] = lambda *arguments: -1
    assert _written_in_a_new_template(memory[: 4 * PAGE]) is None
    answers.clear()
    answers["open"] = lambda *arguments: -1
    assert _written_in_a_new_template(memory[: 4 * PAGE]) is None


def _written_in_a_new_template(memory: bytes) -> bytes | None:
    return Template(memory).written(0, len(memory))


def test_the_file_needs_no_memory_for_zeros_at_its_start(memory: bytes) -> None:
    for content in (memory, bytes(5 * 65536), bytes(65536) + b"a" + bytes(PAGE - 1), b"b" * PAGE):
        template = Template(content)
        assert os.pread(template._file, len(content) + 1, 0) == content
    template = Template(memory)
    zeros = len(memory) - len(memory.lstrip(b"\0"))
    assert zeros > 2**19  # most of the stack
    assert 512 * os.fstat(template._file).st_blocks < len(memory) - zeros // 2


@pytest.mark.parametrize("tells", [True, False])
def test_larger_memory_begins_as_a_view_and_ends_with_zeros(
    instance: Instance,
    template: Template,
    memory: bytes,
    tells: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not tells:
        monkeypatch.setattr(template, "_tells_written", False)
    instance.memory.grow(instance.store, 2)
    for _ in range(2):
        assert instance.begin_with(template)
        assert _read(instance) == memory + bytes(2 * 65536)
        ctypes.memset(instance.host_address() + len(memory) - PAGE, 7, 3 * PAGE)
    written = instance.written()
    if written is not None:
        last = len(memory) // PAGE
        assert all(written[1][last - 1 : last + 2])
        assert not any(written[1][: last - 1])


def test_smaller_memory_is_copied_to(template: Template) -> None:
    small = Instance(guest_runtime())
    assert small.memory_bytes < len(template.memory)
    assert not small.begin_with(template)
    small.close()


def test_a_wiped_view_becomes_one_of_another_template(
    instance: Instance, template: Template, memory: bytes
) -> None:
    other = bytes(2**16) + memory[2**16 :][::-1]
    keep_template(other)
    another = template_of(other)
    assert another is not None
    assert instance.begin_with(template)
    ctypes.memset(instance.host_address() + PAGE, 7, PAGE)
    assert not instance.begin_with(another)  # it holds what a guest has written
    instance.wipe()
    assert instance.begin_with(another)
    assert _read(instance) == other
    drop_template(other)
    assert template_of(other) is None
    assert instance.begin_with(another)  # a view stays one
    assert _read(instance) == other


def test_the_file_of_a_dropped_template_is_closed_with_its_last_user(memory: bytes) -> None:
    content = bytes(memory[: 4 * PAGE])
    keep_template(content)
    template = template_of(content)
    assert template is not None
    file = template._file
    drop_template(content)
    assert os.fstat(file).st_size == len(content)
    del template
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(file)


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOMEM])
def test_where_the_system_refuses_memory_is_copied_or_the_realm_fails(
    monkeypatch: pytest.MonkeyPatch, instance: Instance, template: Template, code: int
) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(code, "no more")

    monkeypatch.setattr(Template, "map_over", refuse)
    if code == errno.ENOMEM:
        with pytest.raises(EngineFailure, match=r"cannot be started: .*no more"):
            instance.begin_with(template)
    else:
        assert not instance.begin_with(template)
    monkeypatch.setattr(os, "memfd_create", refuse)
    content = bytes(mmap.PAGESIZE)
    keep_template(content)
    assert template_of(content) is None


def _run() -> tuple[str, Any]:
    """A cell on a new instance, interrupted and undone in between; the image it leaves."""
    realm = QuickJSEngine().open(Limits(), BridgeRegistry([]).freeze())
    text = ""
    for source in (_CELL, "for (;;) kept.push(1)", "kept.slice(0, 3)"):
        execution = realm.start(Cell(source=source, seed=1))
        progress = execution.poll(0.0, 0.05 if "for" in source else 5.0)
        if progress.completion is None:
            execution.undo()
        else:
            text += progress.completion.text
            execution.abort("done")
            realm.values()
    image = realm.image()
    realm.close()
    return text, image


def test_a_realm_is_the_same_with_and_without_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances.spares, "take", lambda most, template: None)
    views, begin_with = [], Instance.begin_with

    def begun(one: Instance, template: Template | None) -> bool:
        begins = begin_with(one, template)
        if template is not None:
            views.append(begins)
        return begins

    monkeypatch.setattr(Instance, "begin_with", begun)
    viewed = _run()
    assert views
    assert all(views)
    monkeypatch.setattr(guests, "template_of", lambda memory: None)
    assert _run() == viewed


def test_a_reserve_of_viewed_instances_serves_any_guest(memory: bytes) -> None:
    base, reserve = base_heaps.get(()), Spares(1)
    first = Guest(None)
    first.load(base.heap)
    first.evaluate("globalThis.secret = 'told' + 'to nobody'")
    instance = first.release()
    assert instance is not None
    reserve.give(instance)
    again = reserve.take(base.heap.size, template_of(memory))
    assert again is instance
    second = Guest(None, again)
    second.load(base.heap)
    assert second.read(2**20, len(memory) - 2**20) == memory[2**20 :]
    second.close()


def test_a_view_whose_written_pages_are_unknown_is_reset_once_and_then_copied_to(
    memory: bytes, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(template, "_tells_written", False)
    guest, heap = Guest(None), base_heaps.get(()).heap
    for _ in range(3):
        guest.load(heap)
        start = heap.stack_pointer
        assert guest.read(start, len(memory) - start) == memory[start:]
        guest.write(b"told to nobody", 2**21)
    assert guest._instance.begin_with(template_of(memory)) is False  # type: ignore[arg-type]
    guest.close()
