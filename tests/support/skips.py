"""A plugin of pytest: where `CI` is set, a test that is skipped for a missing part fails.

Elsewhere the test is skipped, so that the suite runs on a machine that has no PostgreSQL, say. The
table lists all reasons that count in continuous integration, too. Other systems than Linux lack
servers and signals of their own; there every skip counts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator
from importlib.metadata import PackageNotFoundError, distribution
from typing import Final

import pytest

__all__ = ["counts"]

#: What a reason looks like, and why continuous integration may skip such a test.
_REASONS: Final = {
    r"(the engine|it) (declares no|does not (declare|run)|does not interrupt guests)": "a gap",
    r"guests live in this process|\w+ guests (run|live) in this process": "not of this class",
    r"isolation class \w+ promises nothing": "not of this class",
    r"this guest language|texts of this guest|nothing is shared in this language": "its language",
    r"the kit has no (reach|use) for it": "a language or a plugin that has none",
    r"this release of Lang(Chain|Graph) ": "the env `lowest` installs such a release",
    r"new syntax of Python 3\.\d+": "the oldest Python lacks it",
    r"INTERPSTACK_TEST262 names no copy": "the env `language` needs one",
    r"set INTERPSTACK_LOAD=1": "the envs that set it run the test",
    r"needs the packages of `tox run -e (mcp|benefit)`": "these envs install them",
    r"Playwright is not installed|there is no Chromium here": "the env `inspect` has a browser",
    r"could not import 'ray'": "the env `ray` installs it",
    r"there is one thread for guests": "the machine has one core",
}
#: Reasons that count where this distribution is not installed, as in the env `core`.
_REASONS_OF_CORE: Final = (
    r"the kernel is tested alone",
    r"the plugin 'display' is not installed",
    r"interpstack is on the path and not installed",
    r"\w+ is missing",
)


def counts(reason: str) -> bool:
    """Tell whether a test may be skipped in continuous integration for this reason."""
    if not os.environ.get("CI") or not sys.platform.startswith("linux"):
        return True
    patterns = list(_REASONS)
    if not _is_installed():
        patterns += _REASONS_OF_CORE
    return any(re.match(pattern, reason) for pattern in patterns)


def _is_installed() -> bool:
    try:
        distribution("interpstack")
    except PackageNotFoundError:
        return False
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.skipped:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    place = report.longrepr
    reason = place[2] if isinstance(place, tuple) else str(place)
    reason = reason.removeprefix("Skipped: ")
    if not counts(reason):
        report.outcome = "failed"
        report.longrepr = (
            f"skipped, which continuous integration does not allow: {reason}\n"
            "Install what is missing, or add the reason to tests/support/skips.py."
        )
