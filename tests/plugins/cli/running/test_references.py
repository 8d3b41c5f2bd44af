"""Modules and attributes that options name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from interpstack import ConfigurationError
from interpstack_cli.running.references import attribute_of, import_named, nearest


def test_a_module_of_the_current_directory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "references_here.py").write_text("class A:\n    b = 5")
    module = import_named("--tools references_here", "references_here")
    assert attribute_of("--tools x", module, "A.b", "name one") == 5
    assert attribute_of("--tools x", module, "", "name one") is module
    with pytest.raises(ConfigurationError, match=r"has no 'A\.c'; name one"):
        attribute_of("--tools x", module, "A.c", "name one")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tools.py", "takes a module name, not a path; .* use --tools tools:ATTR"),
        ("a/b", "use --tools b:ATTR"),
        ("1x", "takes MODULE or MODULE:ATTR"),
        ("references_missing.inner", "there is no module 'references_missing'"),
        ("references_broken", "cannot be imported: ZeroDivisionError"),
        ("references_exits", "cannot be imported: SystemExit"),
    ],
)
def test_what_cannot_be_imported_is_reported(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "references_broken.py").write_text("1 / 0")
    (tmp_path / "references_exits.py").write_text("raise SystemExit")
    with pytest.raises(ConfigurationError, match=message):
        import_named(f"--tools {name}", name)


def test_the_most_similar_names_come_first() -> None:
    assert nearest("serch", ["add", "search"]) == "search, add"
    assert nearest("x", []) == ""
    assert nearest("x", [f"n{i}" for i in range(20)]).endswith(" and 8 more")
