"""Tests of interpstack.lazy: names that are imported when they are used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PACKAGE = """
from interpstack.lazy import lazy_names

own = 1
__getattr__, __dir__ = lazy_names(__name__, {"deep": "inner.module", "gone": "inner.module"})
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "sparing" / "inner").mkdir(parents=True)
    (tmp_path / "sparing" / "__init__.py").write_text(PACKAGE)
    (tmp_path / "sparing" / "beside.py").write_text(PACKAGE)
    (tmp_path / "sparing" / "inner" / "__init__.py").touch()
    (tmp_path / "sparing" / "inner" / "module.py").write_text("deep = object()")
    monkeypatch.syspath_prepend(str(tmp_path))
    import sparing

    yield sparing
    for name in [name for name in sys.modules if name.partition(".")[0] == "sparing"]:
        del sys.modules[name]


def test_a_name_is_imported_once_and_then_stays(package: ModuleType) -> None:
    assert "sparing.inner.module" not in sys.modules
    value = package.deep
    assert vars(package)["deep"] is value
    assert sys.modules["sparing.inner.module"].deep is value


def test_a_module_has_names_of_its_package(package: ModuleType) -> None:
    beside = import_module("sparing.beside")
    assert "sparing.inner.module" not in sys.modules
    assert beside.deep is package.deep
    with pytest.raises(AttributeError, match=r"module 'sparing\.beside' has no attribute 'none'"):
        beside.none  # noqa: B018


def test_all_names_are_listed(package: ModuleType) -> None:
    assert {"deep", "gone", "own"} <= set(dir(package))
    assert "sparing.inner.module" not in sys.modules


def test_other_names_are_unknown(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'sparing' has no attribute 'nothing'"):
        package.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="gone"):
        package.gone  # noqa: B018
