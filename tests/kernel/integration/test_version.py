"""The version is written once."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

import pytest

import interpstack


def test_the_version_is_one_that_can_be_released() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+|\.dev\d+)?", interpstack.__version__)


def test_the_installed_distribution_has_the_same_version() -> None:
    try:
        installed = version("interpstack")
    except PackageNotFoundError:
        pytest.skip("interpstack is on the path and not installed")
    assert installed == interpstack.__version__
