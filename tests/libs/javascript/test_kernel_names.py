"""The files of the kernel share one scope, in which a second function silently takes a name."""

from __future__ import annotations

import re
from collections import Counter

from interpstack_javascript import kernel_source

_FUNCTION = re.compile(r"^  (?:async )?function\*? (\w+)\(", re.MULTILINE)


def repeated(source: str) -> list[str]:
    """Names that several functions of the kernel's scope have."""
    return [name for name, count in Counter(_FUNCTION.findall(source)).items() if count > 1]


def test_no_two_functions_of_the_kernel_have_one_name() -> None:
    assert len(_FUNCTION.findall(kernel_source())) > 200
    assert repeated(kernel_source()) == []


def test_a_repeated_name_is_found() -> None:
    assert repeated("  function a() {}\n    function a() {}\n") == []
    assert repeated("  function a() {}\n  function* b() {}\n  async function a() {}\n") == ["a"]
