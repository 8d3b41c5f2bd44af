"""Tests of interpstack_javascript.guest_files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from interpstack import EngineFailure
from interpstack_javascript import guest_files
from interpstack_javascript.guest_files import guest_path


@pytest.fixture(autouse=True)
def _looked_up_anew() -> Iterator[None]:
    guest_path.cache_clear()
    yield
    guest_path.cache_clear()


def test_the_guest_is_a_webassembly_file_of_the_package() -> None:
    path = guest_path()
    assert path.parent.name == "quickjs_rs"
    assert path.read_bytes()[:4] == b"\0asm"


def test_the_package_is_not_imported_for_it() -> None:
    code = (
        "import sys; from interpstack_javascript.guest_files import guest_path; guest_path();"
        "assert 'quickjs_rs' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("spec", [None, ModuleSpec("quickjs_rs", None)])
def test_a_missing_package_is_reported_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, spec: Any
) -> None:
    monkeypatch.setattr(guest_files, "find_spec", lambda name: spec)
    with pytest.raises(EngineFailure, match=r"not installed; run: pip install 'quickjs-rs>="):
        guest_path()


def test_a_file_that_the_package_lacks_is_reported_with_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = ModuleSpec("quickjs_rs", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(guest_files, "find_spec", lambda name: spec)
    monkeypatch.setattr(guest_files, "version", lambda name: "0.1.0")
    with pytest.raises(EngineFailure, match=r"^quickjs-rs 0\.1\.0 has no other\.wasm; run: pip"):
        guest_path("other.wasm")
    (tmp_path / "other.wasm").touch()
    assert guest_path("other.wasm") == tmp_path / "other.wasm"
