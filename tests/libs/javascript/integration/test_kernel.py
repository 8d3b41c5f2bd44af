"""The kernel, put together from its parts."""

from __future__ import annotations

from importlib.resources import files

import interpstack_javascript
from interpstack_javascript import kernel_source

_FOLDER = files(interpstack_javascript) / "kernel"


def test_every_part_is_used_once() -> None:
    parts = interpstack_javascript._PARTS
    assert sorted(f"{part}.js" for part in parts) == sorted(one.name for one in _FOLDER.iterdir())
    assert len(parts) == len(set(parts))


def test_parts_begin_and_end_with_whole_lines() -> None:
    for part in _FOLDER.iterdir():
        text = part.read_text("utf-8")
        assert text.endswith("\n"), part.name
        assert "\r" not in text, part.name


def test_the_kernel_is_one_function_and_read_once() -> None:
    source = kernel_source()
    assert source.count("\n() => {\n") == 1
    assert source.endswith("\n}\n")
    assert kernel_source() is source
